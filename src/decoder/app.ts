import type { FastifyInstance } from 'fastify';
import type { DecoderConfig } from '../config/services/decoder.ts';
import { readinessOf } from '../follower/report.ts';
import { type AddressReader, createPeerReader } from '../service/callers/address.ts';
import { createLimit } from '../service/callers/limits.ts';
import type { ServiceDefinition } from '../service/frame.ts';
import { createRpcFrame, type RpcAppDeps } from '../service/life/rpc-frame.ts';
import { healthRoute } from '../service/routes/health.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import { type DecoderView, LiveSchema, liveOf, type StallLimits, StatusSchema, statusOf } from './health.ts';
import { decoderMethods } from './methods.ts';

/** Parts that the decoder's process hands to its front door. */
interface DecoderAppDeps extends RpcAppDeps, Pick<ServiceDefinition, 'actors'> {
  readonly config: ServiceDefinition['config'] &
    Pick<
      DecoderConfig,
      'DECODER_API_KEY' | 'DECODER_RATE_LIMIT_RPM' | 'DECODER_STALL_ALERT_MS' | 'DECODER_STALL_FETCH_ATTEMPTS'
    >;
  /** Returns the last known state of the loop. */
  readonly view: () => DecoderView;
}

const LOOPBACK = new Set(['127.0.0.1', '0:0:0:0::/64']);

/**
 * Creates the decoder's front door: JSON-RPC and the probes `GET /status` and `GET /live`, in the frame that every
 * service has.
 *
 * It answers from the loop's last report, so that a slow database or node cannot stall it.
 *
 * @throws {PlatformError} CONFIG_INVALID
 * @see the section "Decoder (JSON-RPC 2.0 on DECODER_API_PORT)" of the specification
 */
export function createDecoderApp(deps: DecoderAppDeps): FastifyInstance {
  const { config, view } = deps;
  return createRpcFrame({
    ...deps,
    name: 'decoder',
    readers: config.DECODER_API_KEY,
    description:
      'Parses the blocks of a coin node into a decoder database.\n\nJSON-RPC, `/status` and `/live` are open; all else needs the key where there is one.',
    readiness: () => readinessOf(view()),
    rpc: {
      methods: decoderMethods(view),
      requestsPerMinute: config.DECODER_RATE_LIMIT_RPM,
      serves: deps.serves
    },
    routes: (app, { addressOf }) => registerProbes(app, deps, addressOf)
  });
}

/**
 * Registers the probes. A prober on this machine, or a listed proxy on its own behalf, is not rate-limited: it would
 * take 429 for a failure.
 */
function registerProbes(app: FastifyInstance, { config, view }: DecoderAppDeps, addressOf: AddressReader): void {
  const limits: StallLimits = {
    alertMs: config.DECODER_STALL_ALERT_MS,
    fetchAttempts: config.DECODER_STALL_FETCH_ATTEMPTS
  };
  const peerOf = createPeerReader(config.TRUST_PROXY);
  app.register(async (probes) => {
    const max = config.DECODER_RATE_LIMIT_RPM;
    const limit = createLimit(probes, { name: 'probes', max, windowMs: 60_000, addressOf });
    probes.addHook('onRequest', async (request, reply) => {
      const isProxy = peerOf(request.raw.socket) === undefined && !('x-forwarded-for' in request.headers);
      if (!isProxy && !LOOPBACK.has(addressOf(request.raw))) await limit.take(request, reply);
    });
    healthRoute(probes, {
      path: '/status',
      summary: 'Whether it runs and reaches its database; 503 with the same body while it does not',
      statuses: [429],
      schema: StatusSchema,
      read: () => statusOf(view(), monotonicMs()),
      isWell: ({ status }) => status === 'healthy'
    });
    healthRoute(probes, {
      path: '/live',
      summary: 'The same, and 503 too while it makes no progress',
      statuses: [429],
      schema: LiveSchema,
      read: () => liveOf(view(), limits, monotonicMs()),
      isWell: ({ running, db, stalled }) => running && db && !stalled
    });
  });
}
