import { hubsOf } from '../config/hub-client.ts';
import { CONTROL_RIGHTS, CONTROL_TABLES, RIGHTS } from '../config/rights.ts';
import { type SyncConfig, sourcesOf } from '../config/services/sync.ts';
import { createHubClient, type DiscoveredDatabase, discoverDatabases } from '../hub/client.ts';
import type { DatabaseNeed, Needs } from '../service/needs.ts';
import { coordinatesOf } from './actor-specs.ts';
import { excludeDatabases } from './exclusions.ts';

const HUB_TIMEOUT_MS = 5_000;

/** Returns the needs of a source or a replica for each database that the hub names. @throws {PlatformError} HUB_UNREACHABLE */
export async function syncNeeds(config: SyncConfig): Promise<Needs> {
  const isClient = config.SYNC_MODE === 'client';
  const hub = createHubClient({ hosts: hubsOf(config), apiKey: config.HUB_API_KEY, timeoutMs: HUB_TIMEOUT_MS });
  const found = discoverDatabases(await hub.fetchConfigs(), { coordinates: !config.REPLICA_DB_HOST });
  const { kept } = excludeDatabases(found.databases, isClient ? config.SYNC_EXCLUDE : []);
  return {
    databases: kept.map((each) => (isClient ? replicaNeed(each, config) : sourceNeed(each, config))),
    directories: [{ variable: 'SYNC_STATE_DIR', place: config.SYNC_STATE_DIR }],
    services: isClient ? sourcesOf(config).map(({ url }) => ({ variable: 'SYNC_SOURCES', place: url })) : [],
    problems: found.problems
  };
}

function replicaNeed({ coordinates }: DiscoveredDatabase, config: SyncConfig): DatabaseNeed {
  const rights = RIGHTS.replica.REPLICA;
  return { coordinates: coordinatesOf(config, coordinates), rights, madeBy: null, loadsInBulk: true };
}

/**
 * Returns what a source needs of its database. Only an indexer's has control tables; one that may not be written to
 * gets them by its replication.
 */
function sourceNeed({ id, coordinates }: DiscoveredDatabase, config: SyncConfig): DatabaseNeed {
  const isKept = id.dbType === 'indexer' && !config.REPLICA_DB_READONLY;
  const mode = config.SYNC_BINLOG;
  return {
    coordinates: coordinatesOf(config, coordinates),
    rights: RIGHTS.sync.INDEXER,
    madeBy: id.dbType,
    ...(isKept && { tableRights: Object.fromEntries(CONTROL_TABLES.map((table) => [table, CONTROL_RIGHTS])) }),
    ...(mode !== 'off' && { binlog: mode })
  };
}
