import { sameNetwork } from '../coin/find-network.ts';
import type { DiscoveredDatabase } from '../hub/client.ts';
import type { DatabaseId } from '../wire/data/database.ts';

/** Applies SYNC_EXCLUDE: the remaining databases, and the entries that matched nothing (a typing error, most likely). */
interface Exclusion {
  readonly kept: readonly DiscoveredDatabase[];
  readonly unmatched: readonly string[];
}

/** @param entries `COIN:network:dbType`, e.g. `DOGE:testnet:indexer` */
export function excludeDatabases(databases: readonly DiscoveredDatabase[], entries: readonly string[]): Exclusion {
  const matches = (entry: string, id: DatabaseId): boolean => {
    const [chain = '', network = '', dbType = ''] = entry.split(':').map((part) => part.trim());
    return sameNetwork({ chain, network }, id) && dbType.toLowerCase() === id.dbType;
  };
  return {
    kept: databases.filter(({ id }) => !entries.some((entry) => matches(entry, id))),
    unmatched: entries.filter((entry) => !databases.some(({ id }) => matches(entry, id)))
  };
}
