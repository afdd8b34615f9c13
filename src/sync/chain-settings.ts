import { sameNetwork } from '../coin/find-network.ts';
import type { SyncConfig } from '../config/services/sync.ts';
import { PlatformError } from '../errors.ts';
import type { DiscoveredDatabase } from '../hub/client.ts';
import type { ReplicaActorData } from '../replication/protocol.ts';
import type { DatabaseId } from '../wire/data/database.ts';

const DEPTH = 'SYNC_BOOTSTRAP_DEPTH_<CHAIN>_<NETWORK>';
const SUBSCRIBE = 'SYNC_SUBSCRIBE_<CHAIN>_<NETWORK>';

type Settings = Pick<SyncConfig, typeof DEPTH | typeof SUBSCRIBE>;

/** Returns the part of its source that one replica keeps, by the settings of its chain and network; infra-only is for indexers. */
export function partOf(
  id: DatabaseId,
  settings: Settings
): Required<Pick<ReplicaActorData, 'bootstrapDepth' | 'infraOnly'>> {
  const { value: bootstrapDepth = null } = settings[DEPTH].find((setting) => sameNetwork(setting, id)) ?? {};
  const { value: mode } = settings[SUBSCRIBE].find((setting) => sameNetwork(setting, id)) ?? {};
  return { bootstrapDepth, infraOnly: mode === 'infra-only' && id.dbType === 'indexer' };
}

/**
 * Refuses settings of a network that is not there: a mistyped name would keep a whole replica where the operator wants
 * a part of one.
 *
 * @throws {PlatformError} CONFIG_INVALID naming each setting that no database of the hub matches
 */
export function refuseUnmatched(named: readonly DiscoveredDatabase[], settings: Settings): void {
  const lost = [...settings[DEPTH], ...settings[SUBSCRIBE]].filter(
    (setting) => !named.some(({ id }) => sameNetwork(setting, id))
  );
  if (lost.length === 0) return;
  const known = [...new Set(named.map(({ id }) => `${id.chain} ${id.network}`))].join(', ') || 'none';
  const reason = lost
    .map(({ variable }) => `${variable} matches no chain and network that the hub names (${known})`)
    .join('\n');
  throw new PlatformError('CONFIG_INVALID', { reason });
}
