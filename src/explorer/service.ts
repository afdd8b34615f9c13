import { RIGHTS } from '../config/rights.ts';
import { serviceUrlOf } from '../config/service-url.ts';
import { explorerChecks, explorerVariables, findExplorerWarnings } from '../config/services/explorer.ts';
import { defineService } from '../service/define.ts';
import { replicasOf } from './start/database-pairs.ts';

/** The explorer: serves the ledger of one network, or of all that the hub names. */
export const service = defineService({
  name: 'explorer',
  command: 'explorer',
  summary: 'answers for balances, tokens, actions and blocks from the ledger of an indexer',
  variables: explorerVariables,
  checks: explorerChecks,
  findWarnings: findExplorerWarnings,
  place: { host: 'EXPLORER_API_HOST', port: 'EXPLORER_API_PORT', key: 'EXPLORER_API_KEY' },
  actors: { explorer: ['availability', 'circuitBreaker', 'restart'] },
  needs: (config) => {
    const url = serviceUrlOf(config.INDEXER_URL, config.INDEXER_API_PORT);
    const { INDEXER, DECODER } = RIGHTS.explorer;
    const isOne = config.NETWORK !== undefined; // of several networks the hub names the databases
    return {
      databases: isOne
        ? replicasOf(config).flatMap(({ indexer, decoder }) => [
            { coordinates: indexer, rights: INDEXER, madeBy: 'indexer' },
            { coordinates: decoder, rights: DECODER, madeBy: 'decoder' }
          ])
        : [],
      directories: config.EXPLORER_CURSOR_KEY
        ? []
        : [{ variable: 'EXPLORER_STATE_DIR', place: config.EXPLORER_STATE_DIR }],
      services: url === undefined ? [] : [{ variable: 'INDEXER_URL', place: url }]
    };
  },
  start: async (config, start) => (await import('./start.ts')).startExplorer(config, start)
});
