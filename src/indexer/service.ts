import { databaseOf } from '../config/database.ts';
import { RIGHTS } from '../config/rights.ts';
import { indexerChecks, indexerVariables, pricesDatabase } from '../config/services/indexer.ts';
import { defineService } from '../service/define.ts';

const load = () => import('./start.ts');

/** The indexer: carries out the actions of a decoder database and writes the ledger. */
export const service = defineService({
  name: 'indexer',
  command: 'indexer',
  summary: 'carries out the actions of a decoder database and writes the ledger',
  variables: indexerVariables,
  checks: indexerChecks,
  place: { host: 'INDEXER_API_HOST', port: 'INDEXER_API_PORT', key: 'INDEXER_API_KEY' },
  actors: { indexer: ['indexer', 'watchdog', 'balanceTree', 'hubPush', 'circuitBreaker', 'restart'] },
  options: {
    'clear-halt': {
      type: 'boolean',
      help: ['let a halted indexer continue, and end'],
      order: async (config) => (await load()).clearIndexerHalt(config)
    }
  },
  needs: (config) => {
    const prices = pricesDatabase(config);
    const { DECODER, INDEXER } = RIGHTS.indexer;
    return {
      databases: [
        { coordinates: databaseOf(config, 'DECODER'), rights: DECODER, madeBy: 'decoder' },
        { coordinates: databaseOf(config, 'INDEXER'), rights: INDEXER, madeBy: null },
        ...(prices ? [{ coordinates: prices, rights: RIGHTS.explorer.INDEXER, madeBy: 'indexer of Bitcoin' }] : [])
      ]
    };
  },
  start: async (config, start) => (await load()).startIndexer(config, start)
});
