import { networkOf, nodeRpcOf } from '../config/node.ts';
import { minerChecks, minerVariables } from '../config/services/miner.ts';
import { defineService } from '../service/define.ts';

/** The miner: mines on a regtest node when payments wait. */
export const service = defineService({
  name: 'miner',
  command: 'miner',
  summary: 'mines on a regtest coin node when payments wait, and hands out coins',
  variables: minerVariables,
  checks: minerChecks,
  place: { host: 'REGTEST_MINER_API_HOST', port: 'REGTEST_MINER_API_PORT', key: 'MINER_API_KEY' },
  actors: {},
  needs: (config) => ({
    node: { network: networkOf(config), rpc: nodeRpcOf(config), needs: { hasIndex: false, blocksFrom: null } }
  }),
  start: async (config, start) => (await import('./start.ts')).startMiner(config, start)
});
