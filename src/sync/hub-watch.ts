import { type ConfigTree, type DiscoveredDatabase, discoverDatabases } from '../hub/client.ts';
import { type HubWatch, warnOfChanges, watchHub } from '../hub/hub-watch.ts';
import type { KnownDatabases } from '../hub/known-databases.ts';
import type { Logger } from '../log.ts';
import { databaseKey } from '../wire/data/database.ts';

interface DatabaseWatch extends Omit<HubWatch, 'log' | 'namesOf' | 'onConfigs' | 'onSilence'> {
  /** False where only names count: the coordinates come from the environment. */
  readonly needsCoordinates: boolean;
  readonly log: Logger;
  /** For callers that need only names: they may start with the hub's last known answer. */
  readonly memory?: KnownDatabases | undefined;
  /** Called with the hub's databases, after the first answer and after each later one. */
  readonly onDatabases: (databases: readonly DiscoveredDatabase[]) => Promise<void>;
}

/**
 * Asks the hub for the databases until the signal ends it.
 *
 * If the hub is away after the first answer, the known databases stay; with `memory`, also at the next start.
 *
 * @throws {PlatformError} HUB_UNREACHABLE when no first answer came in `maxWaitMs`; what `onDatabases` finds final
 */
export async function watchDatabases({
  needsCoordinates,
  memory,
  onDatabases,
  ...watch
}: DatabaseWatch): Promise<void> {
  const { log } = watch;
  const warn = warnOfChanges(log);
  const discover = (configs: ConfigTree) => discoverDatabases(configs, { coordinates: needsCoordinates });
  await watchHub({
    ...watch,
    namesOf: (configs) => new Set(discover(configs).databases.map(({ id }) => databaseKey(id))),
    onConfigs: async (configs) => {
      const { databases, problems } = discover(configs);
      const hasIndexer = databases.some(({ id }) => id.dbType === 'indexer');
      warn([...problems, ...(hasIndexer ? [] : ['no indexer databases found in hub config'])]);
      await onDatabases(databases);
      await memory?.keep(databases).catch((err) => log.warn({ err }, "the hub's list of databases cannot be saved"));
    },
    onSilence: async () => {
      const kept = await memory?.recall();
      if (!kept) return false;
      log.warn({ databases: kept.length }, 'the hub does not answer: using its last list of databases');
      await onDatabases(kept);
      return true;
    }
  });
}
