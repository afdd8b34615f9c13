import { findSyncFaults, findSyncWarnings, syncVariables } from '../../config/services/sync.ts';
import { startSync } from '../../sync/service.ts';
import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { runService } from './run-service.ts';
import { planSync, planText } from './sync-plan.ts';

/** Exit code of sysexits(3) after which no other start is tried. */
const UNAVAILABLE = 69;

/** Command `platform-node sync`: runs the sync service in the mode of SYNC_MODE until a signal. */
export const syncCommand = {
  name: 'sync',
  summary: 'the sync service: serve local databases (SYNC_MODE=server) or keep replicas (SYNC_MODE=client)',
  variables: syncVariables,
  checks: {
    prefixes: ['SYNC_'],
    findFaults: findSyncFaults,
    // With SYNC_SOURCES set it is most likely a client: do not ask the hub for the mode.
    fromAnyNetwork: (textOf) => (textOf('SYNC_SOURCES') ? ['SYNC_API_PORT'] : ['SYNC_MODE', 'SYNC_API_PORT'])
  },
  options: [
    '--adopt <id>  take over a replica that another client made, such as indexer/bitcoin/mainnet, or all, once it is',
    "              found to be part of its source's chain; may be given several times",
    '--dry-run      client: print what would be fetched, with rows, bytes and minutes, and end; changes nothing'
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
    const withWarnings = { values, warnings: [...warnings, ...findSyncWarnings(values)] };
    const adopts = (id: DatabaseId) => adopted.has('all') || adopted.has(databaseKey(id));
    return await runService('sync', withWarnings, (config, log) => startSync(config, log, adopts));
  }
} satisfies Command<typeof syncVariables>;
