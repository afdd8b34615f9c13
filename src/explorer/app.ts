import type { FastifyInstance } from 'fastify';
import type { ExplorerConfig } from '../config/services/explorer.ts';
import { createLimit } from '../service/callers/limits.ts';
import { createFrame, type ServiceDefinition } from '../service/frame.ts';
import type { Readiness } from '../service/routes/readiness.ts';
import { pingMethod } from '../service/rpc/method.ts';
import type { Coin } from './coins.ts';
import { FairReads } from './fair-reads.ts';
import { MAX_PER_ADDRESS } from './live/live-stream.ts';
import { type ApiDeps, apiRoutes, ONE_NETWORK } from './routes/api.ts';
import { ASKS_AT_ONCE } from './routes/fees.ts';
import { isLiveRequest, liveRoutes } from './routes/live.ts';
import { pageRoutes } from './routes/pages.ts';

/** Dependencies of the explorer's front door. */
interface ExplorerAppDeps
  extends Pick<
    ServiceDefinition,
    'version' | 'log' | 'metrics' | 'consoleFiles' | 'tracing' | 'actors' | 'stateDirectory'
  > {
  readonly config: ServiceDefinition['config'] &
    Pick<ExplorerConfig, 'EXPLORER_API_KEY' | 'EXPLORER_RATE_LIMIT_RPM' | 'EXPLORER_CACHE_MB'>;
  readonly coins: () => readonly Coin[];
  readonly hubAgeS: ApiDeps['hubAgeS'];
}

const WINDOW_MS = 60_000;
/** Most bytes of a JSON-RPC body; there is `ping` alone. */
const RPC_BODY_BYTES = 4_096;
const DESCRIPTION = `Reads what an indexer has written: balances, tokens, actions, blocks.

Everything below \`/{COIN}/api/\` is open; where one network is served, \`{COIN}\` may be left out. Amounts and indexes are decimal texts. \`next\` of a page is the cursor of the one after it, at any depth at the same cost; a reorg ends it with CURSOR_STALE.`;

/** Creates the explorer's front door: its routes in the frame of every service. @throws {PlatformError} CONFIG_INVALID */
export function createExplorerApp(deps: ExplorerAppDeps): FastifyInstance {
  const { config, coins, hubAgeS, log, version } = deps;
  return createFrame({
    ...deps,
    name: 'explorer',
    keys: { readers: config.EXPLORER_API_KEY },
    documentation: {
      title: 'platform-node explorer',
      description: DESCRIPTION,
      tags: ['State', 'Blocks', 'Actions', 'Pages', 'JSON-RPC', 'Operator', 'Documentation', ONE_NETWORK],
      codesAlways: true,
      keys: 'EXPLORER_API_KEY, when it is set'
    },
    rpc: {
      methods: { ping: pingMethod },
      requestsPerMinute: config.EXPLORER_RATE_LIMIT_RPM,
      bodyLimitBytes: RPC_BODY_BYTES,
      serves: (code) => coins().some(({ network }) => network.code === code.toUpperCase())
    },
    readiness: () => readinessOf(coins()),
    consolePath: '/console',
    upgrades: { accept: ({ url, headers }) => isLiveRequest(url, headers.upgrade), maxPerAddress: MAX_PER_ADDRESS },
    routes: (app, { addressOf, authenticator, budget }) => {
      const { EXPLORER_RATE_LIMIT_RPM: max, EXPLORER_CACHE_MB } = config;
      void app.register(async (plugin) => {
        // One for all: what a page or a connection is made of costs as much as an answer.
        const limit = createLimit(plugin, { name: 'explorer', max, windowMs: WINDOW_MS, addressOf });
        const reads = new FairReads({ addressOf, authenticator, budget });
        const asks = new FairReads({ addressOf, authenticator, budget }, ASKS_AT_ONCE);
        const deps = { coins, hubAgeS, limit, reads, asks, cacheBytes: EXPLORER_CACHE_MB * 2 ** 20, version };
        liveRoutes(plugin, { ...deps, addressOf, log });
        apiRoutes(plugin, deps);
        pageRoutes(plugin, deps);
      });
    }
  });
}

/** Returns the readiness for load balancers: the explorer is ready while one network is. */
function readinessOf(coins: readonly Coin[]): Readiness {
  const states = coins.map(({ report }) => report()?.state ?? 'unknown');
  if (states.includes('available')) return 'ready';
  if (states.includes('stale')) return 'behind';
  return states.includes('unavailable') ? 'unavailable' : 'starting';
}
