import { findSyncFaults, findSyncWarnings, syncVariables } from '../../config/services/sync.ts';
import { startSync } from '../../sync/service.ts';
import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { runService } from './run-service.ts';
import { planSync, planText } from './sync-plan.ts';

/** Of sysexits(3); no other start is tried after it. */
const UNAVAILABLE = 69;

/** `platform-node sync`: the sync service in the mode that SYNC_MODE says, until a signal ends it. */
export const syncCommand = {
  name: 'sync',
  summary: 'the sync service: serve local databases (SYNC_MODE=server) or keep replicas (SYNC_MODE=client)',
  variables: syncVariables,
  checks: {
    prefixes: ['SYNC_'],
    findFaults: findSyncFaults,
    // With sources it is most likely to be a client: that is no question for the hub.
    fromAnyNetwork: (textOf) => (textOf('SYNC_SOURCES') ? ['SYNC_API_PORT'] : ['SYNC_MODE', 'SYNC_API_PORT'])
  },
  options: [
    '--adopt <id>  take over a replica that another client made, like indexer/bitcoin/mainnet, or all: once it is',
    '              found to stand in the chain of its source; may be given several times',
    '--dry-run      client: say what would be fetched, with rows, bytes and minutes, and end; nothing is changed'
  ],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { adopt, 'dry-run': dryRun } = readOptions(argv, {
      adopt: { type: 'string', multiple: true, default: [] },
      'dry-run': { type: 'boolean', default: false }
    });
    const adopted = new Set(adopt);
    const { values, warnings } = await loadSettings(syncCommand, env);
    if (dryRun) {
      const planned = await planSync(values);
      console.log(planText(planned));
      return planned.every(({ possible }) => possible) ? 0 : UNAVAILABLE;
    }
    const told = { values, warnings: [...warnings, ...findSyncWarnings(values)] };
    const adopts = (id: DatabaseId) => adopted.has('all') || adopted.has(databaseKey(id));
    return await runService('sync', told, (config, log) => startSync(config, log, adopts));
  }
} satisfies Command<typeof syncVariables>;
