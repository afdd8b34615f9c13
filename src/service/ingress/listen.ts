import type { FastifyInstance, FastifyListenOptions } from 'fastify';
import { PlatformError } from '../../errors.ts';

/** Where a service listens, with the names of the variables that say so. */
export interface ListenPlace {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly variables: { readonly host: string; readonly port: string };
}

/** Failures that another port solves; all others lie with the host. */
const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens on',
  EACCES: 'this user may not listen on'
};

/**
 * Begins to listen.
 *
 * @returns the port
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID; both name the variable that is to be changed
 */
export async function listen(
  app: Pick<FastifyInstance, 'listen' | 'server'>,
  { host, port, variables }: ListenPlace,
  options: Pick<FastifyListenOptions, 'listenTextResolver'> = {}
): Promise<number> {
  try {
    await app.listen({ host, port, ...options });
  } catch (cause) {
    const { code = 'error' } = cause as NodeJS.ErrnoException;
    const fault = PORT_FAULTS[code];
    const setting = fault ? `${variables.port}=${port}` : `${variables.host}=${host}`;
    const reason = `${setting}: ${fault ?? `cannot listen (${code}) on`} ${host}:${port}`;
    throw new PlatformError(code === 'EADDRINUSE' ? 'PORT_IN_USE' : 'CONFIG_INVALID', { reason }, { cause });
  }
  const address = app.server.address();
  return typeof address === 'object' && address ? address.port : port;
}
