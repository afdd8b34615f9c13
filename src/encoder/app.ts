import type { FastifyInstance } from 'fastify';
import type { EncoderConfig } from '../config/services/encoder.ts';
import type { ServiceDefinition } from '../service/frame.ts';
import { NO_ACTORS } from '../service/life/no-actors.ts';
import { createRpcFrame, type RpcAppDeps } from '../service/life/rpc-frame.ts';
import { healthRoute } from '../service/routes/health.ts';
import { alarmText } from '../wire/state/alarm.ts';
import { EncoderHealthSchema, type EncoderMethodDeps, encoderMethods, healthOf } from './methods.ts';
import { encoderPipeline } from './pipeline.ts';

/** Parts that the encoder's process hands to its front door. */
interface EncoderAppDeps extends RpcAppDeps, Omit<EncoderMethodDeps, 'isKeyed'> {
  readonly config: ServiceDefinition['config'] & Pick<EncoderConfig, 'ENCODER_API_KEY' | 'ENCODER_RATE_LIMIT_RPM'>;
}

const BODY_LIMIT_BYTES = 3_000_000;
const BATCH_LIMIT = 50;

/**
 * Creates the encoder's front door: JSON-RPC in the frame that every service has. @throws {PlatformError}
 * CONFIG_INVALID
 */
export function createEncoderApp(deps: EncoderAppDeps): FastifyInstance {
  const { config, network } = deps;
  const look = () => healthOf(deps);
  return createRpcFrame({
    ...deps,
    name: 'encoder',
    readers: config.ENCODER_API_KEY,
    description:
      'Builds unsigned transactions that carry actions, and broadcasts signed ones. It holds no private key.\n\n`ping`, `health` and `estimate_fee` are open; all else needs the key where there is one.',
    readiness: () => (look().status === 'healthy' ? 'ready' : 'unavailable'),
    actors: {
      ...NO_ACTORS,
      pipeline: () =>
        encoderPipeline(network.name, {
          isFit: deps.seen.node.isFit,
          fault: alarmText(deps.seen.node.alarm),
          trackerFault: deps.seen.tracker()?.tracker_fault ?? null
        })
    },
    rpc: {
      methods: encoderMethods({ ...deps, isKeyed: config.ENCODER_API_KEY !== undefined }),
      requestsPerMinute: config.ENCODER_RATE_LIMIT_RPM,
      countsCalls: true,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      batchLimit: BATCH_LIMIT,
      serves: deps.serves
    },
    routes: (app) =>
      healthRoute(app, {
        path: '/status',
        summary: 'As `health`; 503 while no transaction can be built',
        schema: EncoderHealthSchema,
        read: look,
        isWell: ({ status }) => status === 'healthy'
      })
  });
}
