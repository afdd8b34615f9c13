import { findSyncFaults, findSyncWarnings, syncVariables } from '../config/services/sync.ts';
import { defineService } from '../service/define.ts';

/** The sync service, in the mode of SYNC_MODE. */
export const service = defineService({
  name: 'sync',
  command: 'sync',
  summary: 'the sync service: serve local databases (SYNC_MODE=server) or keep replicas (SYNC_MODE=client)',
  variables: syncVariables,
  checks: {
    prefixes: ['SYNC_'],
    findFaults: findSyncFaults,
    // With SYNC_SOURCES set it is most likely a client: do not ask the hub for the mode.
    fromAnyNetwork: (textOf) => (textOf('SYNC_SOURCES') ? ['SYNC_API_PORT'] : ['SYNC_MODE', 'SYNC_API_PORT'])
  },
  place: { host: 'SYNC_API_HOST', port: 'SYNC_API_PORT', key: 'SYNC_API_KEY' },
  actors: {
    source: ['source', 'balanceTree', 'epochCommit', 'circuitBreaker', 'restart'],
    replica: ['replica', 'audit', 'balanceTree', 'halt', 'hashQuorum', 'circuitBreaker', 'restart']
  },
  options: {
    adopt: {
      type: 'string',
      multiple: true,
      value: '<id>',
      help: [
        'take over a replica that another client made, such as indexer/bitcoin/mainnet, or all, once it is',
        "found to be part of its source's chain; may be given several times"
      ]
    },
    'dry-run': {
      type: 'boolean',
      help: ['client: print what would be fetched, with rows, bytes and minutes, and end; changes nothing'],
      order: async (config) => (await import('./plan.ts')).describePlan(config)
    }
  },
  findWarnings: findSyncWarnings,
  needs: async (config) => (await import('./needs.ts')).syncNeeds(config),
  start: async (config, start) => (await import('./start.ts')).startSync(config, start)
});
