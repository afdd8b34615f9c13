import { databaseOf } from '../config/database.ts';
import { networkOf, nodeRpcOf } from '../config/node.ts';
import { RIGHTS } from '../config/rights.ts';
import { trackerChecks, trackerVariables } from '../config/services/tracker.ts';
import { defineService } from '../service/define.ts';

const load = () => import('./start.ts');

/** The tracker: keeps the unspent outputs of a coin node's chain. */
export const service = defineService({
  name: 'tracker',
  command: 'utxo',
  summary: 'keeps the unspent outputs of a chain, for the encoder and for wallets',
  variables: trackerVariables,
  checks: trackerChecks,
  place: { host: 'UTXO_TRACKER_API_HOST', port: 'UTXO_TRACKER_API_PORT', key: 'UTXO_TRACKER_API_KEY' },
  actors: { tracker: ['tracker', 'mempool', 'restart'] },
  options: {
    'clear-halt': {
      type: 'boolean',
      help: ['allow the deep rollback that a stopped tracker refused, and end'],
      order: async (config) => (await load()).clearTrackerHalt(config)
    }
  },
  needs: (config) => ({
    databases: [{ coordinates: databaseOf(config, 'UTXO'), rights: RIGHTS.tracker.UTXO, madeBy: null }],
    node: { network: networkOf(config), rpc: nodeRpcOf(config), needs: { hasIndex: false, blocksFrom: 0 } }
  }),
  start: async (config, start) => (await load()).startTracker(config, start)
});
