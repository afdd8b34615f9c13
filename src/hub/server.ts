import { setTimeout as sleep } from 'node:timers/promises';
import { fastify } from 'fastify';
import { PlatformError } from '../errors.ts';
import { jsonRpc } from '../jsonrpc.ts';
import type { Logger } from '../log.ts';
import type { DatabaseCoordinates } from '../wire/database.ts';
import { hubMethods } from './methods.ts';
import { createHubStore } from './store.ts';

export interface HubOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly database: DatabaseCoordinates;
  readonly apiKey?: string | undefined;
  readonly requestsPerMinute: number;
  readonly log: Logger;
}

/** A running hub. */
export interface Hub {
  readonly port: number;
  /** Finishes the requests in flight, ends the others after 10 seconds, closes the database. */
  stop(): Promise<void>;
}

const BODY_LIMIT_BYTES = 1_000_000;
const REQUEST_TIMEOUT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/**
 * Starts a standalone hub. It listens at once and says 503 in `health` until its database is there.
 *
 * @param signal ends the waiting for the database; a hub that has started is ended with `stop`
 * @returns when its database is ready
 * @throws {PlatformError} PORT_IN_USE, DATABASE_REFUSED
 */
export async function startHub(options: HubOptions, signal = new AbortController().signal): Promise<Hub> {
  const { host, log, apiKey } = options;
  const store = createHubStore(options.database, log);
  const app = fastify({
    loggerInstance: log,
    disableRequestLogging: true,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: 'idle'
  });
  await app.register(jsonRpc, {
    methods: hubMethods(store),
    apiKey,
    requestsPerMinute: options.requestsPerMinute,
    bodyLimitBytes: BODY_LIMIT_BYTES
  });
  const stop = async () => {
    const patience = new AbortController();
    const cut = sleep(STOP_LIMIT_MS, undefined, { signal: patience.signal, ref: false }).then(
      () => app.server.closeAllConnections(),
      () => undefined // closed in time
    );
    await app.close();
    patience.abort();
    await cut;
    await store.close();
  };
  try {
    await listen();
    if (apiKey === undefined && !LOOPBACK.test(host)) {
      log.warn(
        `HUB_API_KEY is not set and the hub listens on ${host}: ANYONE who reaches this port can change the configuration, and read its database passwords`
      );
    }
    await store.prepare(signal);
  } catch (caught) {
    await stop();
    throw caught;
  }
  const address = app.server.address();
  const port = typeof address === 'object' && address ? address.port : options.port;
  log.info({ host, port, database: options.database.name }, `hub ready on ${host}:${port}`);
  return { port, stop };

  async function listen(): Promise<void> {
    try {
      await app.listen({ host, port: options.port });
    } catch (caught) {
      const { code } = caught as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE')
        throw new PlatformError(
          'CONFIG_INVALID',
          { reason: `cannot listen on ${host}:${options.port}: ${code}` },
          { cause: caught }
        );
      throw new PlatformError(
        'PORT_IN_USE',
        { reason: `another process listens on ${host}:${options.port}` },
        { cause: caught }
      );
    }
  }
}
