import { explorerChecks, explorerVariables } from '../config/services/explorer.ts';
import { defineService } from '../service/define.ts';

/** The explorer: serves the ledger of one network, or of all that the hub names. */
export const service = defineService({
  name: 'explorer',
  command: 'explorer',
  summary: 'answers for balances, tokens, actions and blocks from the ledger of an indexer',
  variables: explorerVariables,
  checks: explorerChecks,
  place: { host: 'EXPLORER_API_HOST', port: 'EXPLORER_API_PORT', key: 'EXPLORER_API_KEY' },
  actors: { explorer: ['availability', 'circuitBreaker', 'restart'] },
  start: async (config, start) => (await import('./start.ts')).startExplorer(config, start)
});
