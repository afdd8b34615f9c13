import type { FastifyInstance } from 'fastify';
import type { MinerConfig } from '../config/services/miner.ts';
import type { ServiceDefinition } from '../service/frame.ts';
import { NO_ACTORS } from '../service/life/no-actors.ts';
import { createRpcFrame, type RpcAppDeps } from '../service/life/rpc-frame.ts';
import { sendPage } from '../service/pages/page.ts';
import { healthRoute } from '../service/routes/health.ts';
import { MinerHealthSchema, type MinerMethodDeps, minerHealth, minerMethods } from './methods.ts';
import { minerPage } from './page.ts';
import { minerPipeline } from './pipeline.ts';

/** Parts that the miner's process hands to its front door. */
interface MinerAppDeps extends RpcAppDeps, MinerMethodDeps {
  readonly config: ServiceDefinition['config'] & Pick<MinerConfig, 'MINER_API_KEY' | 'MINER_RATE_LIMIT_RPM'>;
}

const BATCH_LIMIT = 20;

/**
 * Creates the miner's front door: JSON-RPC in the frame that every service has, and a page at `/`. @throws
 * {PlatformError} CONFIG_INVALID
 */
export function createMinerApp(deps: MinerAppDeps): FastifyInstance {
  const { config, network, miner } = deps;
  const page = minerPage(network.name);
  return createRpcFrame({
    ...deps,
    name: 'miner',
    readers: config.MINER_API_KEY,
    description:
      'Mines on a regtest coin node when payments wait, and pays coins on request.\n\n`ping`, `status` and `health` are open; all else needs the key where there is one.',
    readiness: () => (miner.state.isReady && minerHealth(miner).reason === null ? 'ready' : 'unavailable'),
    actors: {
      ...NO_ACTORS,
      pipeline: () => minerPipeline(network.name, minerHealth(miner).reason, !miner.isNodeSilent)
    },
    consolePath: '/console',
    rpc: {
      methods: minerMethods(deps),
      requestsPerMinute: config.MINER_RATE_LIMIT_RPM,
      batchLimit: BATCH_LIMIT,
      serves: deps.serves
    },
    routes: (app) => {
      const doc = { tag: 'Documentation', summary: 'A page: send me coins, mine', mediaType: 'text/html' } as const;
      app.get('/', { config: { open: true, doc } }, (_, reply) => sendPage(reply, page));
      healthRoute(app, {
        path: '/status',
        summary: 'As `health`; 503 while it cannot mine',
        schema: MinerHealthSchema,
        read: () => minerHealth(miner),
        isWell: ({ status }) => status === 'healthy'
      });
    }
  });
}
