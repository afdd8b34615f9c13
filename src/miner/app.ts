import type { FastifyInstance } from 'fastify';
import type { MinerConfig } from '../config/miner.ts';
import { createFrame, type ServiceDefinition } from '../service/frame.ts';
import { NO_ACTORS } from '../service/no-actors.ts';
import { MinerHealthSchema, type MinerMethodDeps, minerHealth, minerMethods } from './methods.ts';
import { minerPage } from './page.ts';
import { minerPipeline } from './pipeline.ts';

/** What the miner's front door is handed by its process. */
export interface MinerAppDeps
  extends Pick<ServiceDefinition, 'version' | 'log' | 'metrics' | 'consoleFiles' | 'tracing'>,
    MinerMethodDeps {
  readonly config: ServiceDefinition['config'] & Pick<MinerConfig, 'MINER_API_KEY' | 'MINER_RATE_LIMIT_RPM'>;
}

const BODY_LIMIT_BYTES = 100_000;
const BATCH_LIMIT = 20;

/** The miner's front door: JSON-RPC in the frame of every service, and a page at `/`. @throws {PlatformError} CONFIG_INVALID */
export function createMinerApp(deps: MinerAppDeps): FastifyInstance {
  const { config, network, miner } = deps;
  const page = minerPage(network.name);
  return createFrame({
    ...deps,
    name: 'miner',
    keys: { readers: config.MINER_API_KEY },
    documentation: {
      title: 'platform-node miner',
      description:
        'Mines on a regtest coin node when payments wait, and pays coins to who asks.\n\n`ping`, `status` and `health` are open; all else needs the key where there is one.',
      tags: ['State', 'JSON-RPC', 'Operator', 'Documentation'],
      keys: 'MINER_API_KEY, when it is set'
    },
    readiness: () => (miner.state.isReady ? 'ready' : 'unavailable'),
    actors: { ...NO_ACTORS, pipeline: () => minerPipeline(network.name, minerHealth(miner).reason) },
    consolePath: '/console',
    rpc: {
      methods: minerMethods(deps),
      requestsPerMinute: config.MINER_RATE_LIMIT_RPM,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      batchLimit: BATCH_LIMIT,
      serves: (code) => code.toUpperCase() === network.code
    },
    routes: (app) => {
      const doc = { tag: 'Documentation', summary: 'A page: send me coins, mine', mediaType: 'text/html' } as const;
      app.get('/', { config: { open: true, doc } }, (_, reply) =>
        reply
          .headers({
            'content-security-policy': page.policy,
            'x-content-type-options': 'nosniff',
            'referrer-policy': 'no-referrer',
            'cache-control': 'no-cache'
          })
          .type('text/html; charset=utf-8')
          .send(page.html)
      );
      app.get(
        '/status',
        {
          config: { open: true, doc: { tag: 'State', summary: 'As `health`; 503 while it cannot mine' } },
          schema: { response: { 200: MinerHealthSchema, 503: MinerHealthSchema } }
        },
        (_, reply) => {
          const health = minerHealth(miner);
          return reply.code(health.status === 'healthy' ? 200 : 503).send(health);
        }
      );
    }
  });
}
