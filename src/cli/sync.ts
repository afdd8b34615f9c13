import { once } from 'node:events';
import { findSyncFaults, findSyncWarnings, syncVariables } from '../config/sync.ts';
import { createLogger } from '../log.ts';
import { nameGrace } from '../process/guardian.ts';
import { startSync } from '../sync/service.ts';
import { databaseKey } from '../wire/database.ts';
import type { Command } from './command.ts';
import { readOptions } from './options.ts';
import { loadSettings } from './settings.ts';
import { planSync, planText } from './sync-plan.ts';

/** Of sysexits(3); no other start is tried after it. */
const UNAVAILABLE = 69;

/** `platform-node sync`: the sync service in the mode that SYNC_MODE says, until SIGTERM or SIGINT. */
export const syncCommand = {
  name: 'sync',
  summary: 'the sync service: serve local databases (SYNC_MODE=server) or keep replicas (SYNC_MODE=client)',
  variables: syncVariables,
  checks: { prefixes: ['SYNC_'], findFaults: findSyncFaults },
  options: [
    '--adopt <id>  take over a replica that another client made, like indexer/bitcoin/mainnet, or all: once it is',
    '              found to stand in the chain of its source; may be given several times',
    '--dry-run      client: say what would be fetched, with rows, bytes and minutes, and end; nothing is changed'
  ],

  async run(argv, env) {
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
    const log = createLogger('sync', values.LOG_LEVEL);
    for (const warning of [...warnings, ...findSyncWarnings(values)]) log.warn(warning);
    nameGrace(values.SHUTDOWN_GRACE_MS);
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop);
    const service = await startSync(values, log, (id) => adopted.has('all') || adopted.has(databaseKey(id)));
    try {
      await Promise.race([service.ended, stopping.signal.aborted ? undefined : once(stopping.signal, 'abort')]);
    } finally {
      log.info('stopping');
      await service.stop();
    }
    log.info('stopped');
    return 0;
  }
} satisfies Command<typeof syncVariables>;
