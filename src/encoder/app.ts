import type { FastifyInstance } from 'fastify';
import type { EncoderConfig } from '../config/encoder.ts';
import { createFrame, type ServiceDefinition } from '../service/frame.ts';
import { NO_ACTORS } from '../service/no-actors.ts';
import { EncoderHealthSchema, type EncoderMethodDeps, encoderMethods, healthOf } from './methods.ts';
import { encoderPipeline } from './pipeline.ts';

/** What the encoder's front door is handed by its process. */
export interface EncoderAppDeps
  extends Pick<ServiceDefinition, 'version' | 'log' | 'metrics' | 'consoleFiles' | 'tracing'>,
    EncoderMethodDeps {
  readonly config: ServiceDefinition['config'] & Pick<EncoderConfig, 'ENCODER_API_KEY' | 'ENCODER_RATE_LIMIT_RPM'>;
  /** Whether a public code, such as LTC, is that of its network. */
  readonly serves: (code: string) => boolean;
}

const BODY_LIMIT_BYTES = 3_000_000;
const BATCH_LIMIT = 20;

/** The encoder's front door: JSON-RPC in the frame of every service. @throws {PlatformError} CONFIG_INVALID */
export function createEncoderApp(deps: EncoderAppDeps): FastifyInstance {
  const { config, network } = deps;
  let isReachable = false;
  const look = async () => {
    const health = await healthOf(deps);
    isReachable = health.node_reachable;
    return health;
  };
  return createFrame({
    ...deps,
    name: 'encoder',
    keys: { readers: config.ENCODER_API_KEY },
    documentation: {
      title: 'platform-node encoder',
      description:
        'Builds unsigned transactions that carry actions, and broadcasts signed ones. It holds no private key.\n\n`ping`, `health` and `estimate_fee` are open; all else needs the key where there is one.',
      tags: ['State', 'JSON-RPC', 'Operator', 'Documentation'],
      keys: 'ENCODER_API_KEY, when it is set'
    },
    readiness: async () => ((await look()).node_reachable ? 'ready' : 'unavailable'),
    actors: { ...NO_ACTORS, pipeline: () => encoderPipeline(network.name, isReachable) },
    rpc: {
      methods: encoderMethods(deps),
      requestsPerMinute: config.ENCODER_RATE_LIMIT_RPM,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      batchLimit: BATCH_LIMIT,
      serves: deps.serves
    },
    routes: (app) =>
      app.get(
        '/status',
        {
          config: { open: true, doc: { tag: 'State', summary: 'As `health`; 503 while no transaction can be built' } },
          schema: { response: { 200: EncoderHealthSchema, 503: EncoderHealthSchema } }
        },
        async (_, reply) => {
          const health = await look();
          return reply.code(health.node_reachable ? 200 : 503).send(health);
        }
      )
  });
}
