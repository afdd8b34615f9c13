import { databaseOf } from '../../config/database.ts';
import type { ExplorerConfig } from '../../config/services/explorer.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { DatabasePair } from '../read/replicas.ts';

/** Returns the databases of a network, and their further copies behind them. */
export function replicasOf(config: ExplorerConfig): readonly [DatabasePair, ...DatabasePair[]] {
  const first = { indexer: databaseOf(config, 'INDEXER'), decoder: databaseOf(config, 'DECODER') };
  const others = config.EXPLORER_REPLICAS.map(({ host, port, ...names }) => {
    const at = (database: keyof DatabasePair): DatabaseCoordinates => ({
      ...first[database],
      host,
      port: port ?? first[database].port,
      name: names[database] ?? first[database].name
    });
    return { indexer: at('indexer'), decoder: at('decoder') };
  });
  return [first, ...others];
}
