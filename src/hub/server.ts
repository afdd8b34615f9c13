import { fastify, LogController } from 'fastify';
import type { BreakerInput } from '../../machines/runtime/circuit-breaker.ts';
import type { Logger } from '../log.ts';
import { ClientLimiter } from '../service/ingress/client-limiter.ts';
import { frontDoor } from '../service/ingress/front-door.ts';
import { listen } from '../service/ingress/listen.ts';
import { jsonRpc } from '../service/jsonrpc.ts';
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
  /** When the database is taken for down, default after 10 failures for 30 seconds. */
  readonly breaker?: BreakerInput;
}

/** A running hub. */
export interface Hub {
  readonly port: number;
  /** Finishes the requests in flight, ends the others after 10 seconds, closes the database. */
  stop(): Promise<void>;
}

const BODY_LIMIT_BYTES = 1_000_000;
const MAX_CONNECTIONS = 2_000;
const MAX_PER_ADDRESS = 256;
const STOP_LIMIT_MS = 10_000;
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/**
 * Starts a standalone hub. It listens at once and says 503 in `health` until its database is there.
 *
 * @param signal ends the waiting for the database; a hub that has started is ended with `stop`
 * @returns when its database is ready
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID (the address), DATABASE_REFUSED
 */
export async function startHub(options: HubOptions, signal = new AbortController().signal): Promise<Hub> {
  const { host, log, apiKey } = options;
  const store = createHubStore(options.database, log, options.breaker);
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    ...frontDoor({
      clientLimiter: new ClientLimiter({ maxPerAddress: MAX_PER_ADDRESS }),
      maxConnections: MAX_CONNECTIONS
    }),
    forceCloseConnections: 'idle'
  });
  let { port } = options;
  let isStopping = false;
  app.addHook('onSend', async (_, reply) => {
    if (isStopping) reply.header('connection', 'close'); // or the stop would wait for it, idle
  });
  await app.register(jsonRpc, {
    methods: hubMethods(store),
    apiKey,
    requestsPerMinute: options.requestsPerMinute,
    bodyLimitBytes: BODY_LIMIT_BYTES
  });
  const stop = async () => {
    isStopping = true;
    const patience = setTimeout(() => app.server.closeAllConnections(), STOP_LIMIT_MS);
    await app.close();
    clearTimeout(patience);
    await store.close();
  };
  try {
    port = await listen(app, { host, port, variables: { host: 'HUB_HOST', port: 'HUB_PORT' } });
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
  log.info({ host, port, database: options.database.name }, `hub ready on ${host}:${port}`);
  return { port, stop };
}
