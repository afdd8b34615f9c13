import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer as listener } from 'node:net';
import { createSecureContext, createServer } from 'node:tls';
import { PlatformError } from '../../errors.ts';
import { arriveSecurely } from './ingress.ts';

/** Address for TLS, with its certificate. */
interface TlsPlace {
  readonly host: string;
  readonly port: number;
  /** Files in PEM: the certificate with those it was signed by, and its key. */
  readonly certificate: string;
  readonly key: string;
  /** The names of the variables that say so. */
  readonly variables: { readonly port: string; readonly certificate: string; readonly key: string };
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Listens for TLS beside the port of a service: what comes in goes the same way, and under the same limits.
 *
 * @returns ends the listening; connections end with the service's own
 * @throws {PlatformError} CONFIG_INVALID, PORT_IN_USE; both name the variable that is to be changed
 */
export async function listenTls(service: Server, place: TlsPlace): Promise<() => void> {
  const { host, port, variables } = place;
  const options = { ...readPair(place), minVersion: 'TLSv1.2' as const, ALPNProtocols: ['http/1.1'] };
  const secure = createServer({ ...options, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }, (socket) =>
    service.emit('connection', socket)
  );
  secure.on('tlsClientError', (_, socket) => socket.destroy());
  // Its place is taken before the handshake: one address must not have all of them.
  const server = listener((socket) => {
    if (!arriveSecurely(service, socket)) return;
    socket.on('error', () => socket.destroy());
    secure.emit('connection', socket);
  });
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = `${variables.port}=${port}: cannot listen (${code}) on ${host}:${port}`;
    throw new PlatformError(code === 'EADDRINUSE' ? 'PORT_IN_USE' : 'CONFIG_INVALID', { reason }, { cause });
  }
  return () => server.close();
}

function readPair({ certificate, key, variables }: TlsPlace): { readonly cert: string; readonly key: string } {
  const read = (variable: string, file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new PlatformError('CONFIG_INVALID', { reason: `${variable}=${file}: cannot be read (${code})` }, { cause });
    }
  };
  const pair = { cert: read(variables.certificate, certificate), key: read(variables.key, key) };
  try {
    createSecureContext(pair);
  } catch (cause) {
    const reason = `${variables.certificate} and ${variables.key}: ${(cause as Error).message}; both must be PEM, of one pair`;
    throw new PlatformError('CONFIG_INVALID', { reason }, { cause });
  }
  return pair;
}
