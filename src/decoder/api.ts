import rateLimit from '@fastify/rate-limit';
import { fastify, LogController } from 'fastify';
import type { Logger } from '../log.ts';
import { ClientLimiter } from '../service/ingress/client-limiter.ts';
import { frontDoor } from '../service/ingress/front-door.ts';
import { listen } from '../service/ingress/listen.ts';
import { jsonRpc, type RpcMethod } from '../service/jsonrpc.ts';
import { type DecoderView, healthOf, latestBlockOf, liveOf, type StallLimits, statusOf } from './health.ts';
import { monotonicMs } from './monotonic.ts';

export interface DecoderApiOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly limits: StallLimits;
  /** What is known of the loop at this moment. */
  readonly view: () => DecoderView;
  readonly log: Logger;
}

export interface DecoderApi {
  readonly port: number;
  close(): Promise<void>;
}

const REQUESTS_PER_MINUTE = 100;
const BODY_LIMIT_BYTES = 100_000;
const MAX_CONNECTIONS = 2_000;
const MAX_PER_ADDRESS = 256;

/**
 * The decoder's front door: JSON-RPC over `POST /`, and the probes `GET /status` and `GET /live`.
 *
 * It answers from what the loop last said, so that no slow database or node can stall it.
 *
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID (the address)
 * @see the section "Decoder (JSON-RPC 2.0 on DECODER_API_PORT)" of the specification
 */
export async function startDecoderApi(options: DecoderApiOptions): Promise<DecoderApi> {
  const { host, view, limits, log } = options;
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    ...frontDoor({
      clientLimiter: new ClientLimiter({ maxPerAddress: MAX_PER_ADDRESS }),
      maxConnections: MAX_CONNECTIONS
    }),
    forceCloseConnections: true
  });
  await app.register(jsonRpc, {
    methods: methodsOf(view),
    requestsPerMinute: REQUESTS_PER_MINUTE,
    bodyLimitBytes: BODY_LIMIT_BYTES
  });
  await app.register(async (probes) => {
    await probes.register(rateLimit, { max: REQUESTS_PER_MINUTE, timeWindow: 60_000 });
    probes.get('/status', async (_, reply) => {
      const status = statusOf(view(), monotonicMs());
      return reply.code(status.status === 'healthy' ? 200 : 503).send(status);
    });
    probes.get('/live', async (_, reply) => {
      const live = liveOf(view(), limits, monotonicMs());
      return reply.code(live.running && live.db && !live.stalled ? 200 : 503).send(live);
    });
  });
  const variables = { host: 'DECODER_API_HOST', port: 'DECODER_API_PORT' };
  return { port: await listen(app, { host, port: options.port, variables }), close: () => app.close() };
}

function methodsOf(view: () => DecoderView): Readonly<Record<string, RpcMethod>> {
  return {
    ping: { write: false, run: () => ({ status: 'success' }) },
    health: { write: false, run: () => healthOf(view(), monotonicMs()) },
    getlatestblock: { write: false, run: () => latestBlockOf(view(), monotonicMs()) }
  };
}
