import type { FastifyInstance } from 'fastify';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';

/** An app that can listen and end. */
export type HttpApp = Pick<FastifyInstance, 'listen' | 'server' | 'close'>;

/** Address that a service listens on, with the names of the variables that set it. */
export interface ListenPlace {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly variables: { readonly host: string; readonly port: string; readonly key: string };
  readonly log: Logger;
  /** Whether callers need a key. */
  readonly hasKey: boolean;
  /** Rights of any caller while no key is set; undefined if that is harmless. */
  readonly exposure?: string;
  /** Whether it listens on its own machine only, because neither an address nor a key is set. */
  readonly isHidden?: boolean;
  /** As the log names it, like `sync server`. */
  readonly service: string;
}

/** Failures that another port solves; all others lie with the host. */
const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens on',
  EACCES: 'this user may not listen on'
};
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/**
 * Begins to listen, and warns where everyone may reach a service without a key.
 *
 * @returns the port
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID; both name the variable that is to be changed
 */
export async function listen(app: Omit<HttpApp, 'close'>, place: ListenPlace): Promise<number> {
  const { host, variables, log, service } = place;
  try {
    const listenTextResolver = (address: string) => `${service} listens on ${address}`;
    await app.listen({ host, port: place.port, listenTextResolver });
  } catch (cause) {
    const { code = 'error' } = cause as NodeJS.ErrnoException;
    const fault = PORT_FAULTS[code];
    const setting = fault ? `${variables.port}=${place.port}` : `${variables.host}=${host}`;
    const reason = `${setting}: ${fault ?? `cannot listen (${code}) on`} ${host}:${place.port}`;
    throw new PlatformError(code === 'EADDRINUSE' ? 'PORT_IN_USE' : 'CONFIG_INVALID', { reason }, { cause });
  }
  const address = app.server.address();
  const port = typeof address === 'object' && address ? address.port : place.port;
  if (place.isHidden)
    log.warn(
      `${variables.key} is not set: ${service} is reached from this machine only; set ${variables.host}=0.0.0.0 to serve others without a key`
    );
  if (place.exposure && !place.hasKey && !LOOPBACK.test(host))
    log.warn(`${variables.key} is not set and ${service} listens on ${host}:${port}: ${place.exposure}`);
  return port;
}
