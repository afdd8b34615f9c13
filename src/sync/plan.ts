import { hubsOf } from '../config/hub-client.ts';
import { type SyncConfig, sourcesOf } from '../config/services/sync.ts';
import { connect, rows } from '../db/connection.ts';
import { hasCode, PlatformError } from '../errors.ts';
import { createHubClient, discoverDatabases } from '../hub/client.ts';
import { SourceClient, type SourceSize } from '../replication/client/source-client.ts';
import { isForeign, type ReplicaState, readReplicaState } from '../replication/replica/database/state.ts';
import type { Done } from '../service/define.ts';
import { type DatabaseCoordinates, type DatabaseId, type DbType, databaseKey } from '../wire/data/database.ts';
import { coordinatesOf } from './actor-specs.ts';
import { partOf, refuseUnmatched } from './chain-settings.ts';
import { excludeDatabases } from './exclusions.ts';
import { readSourceCa } from './source-ca.ts';

/** Usual speed of a bulk load including checks. An estimate for plans only. */
const ROWS_PER_SECOND = 60_000;
const HUB_TIMEOUT_MS = 10_000;
/** Exit code of sysexits(3) after which no other start is tried. */
const UNAVAILABLE = 69;

/** Planned work of a client for one database. */
interface PlannedDatabase {
  readonly database: string;
  readonly replica: string;
  readonly action: string;
  /** Estimates of the source; null when it does not tell. */
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly minutes: number | null;
  readonly possible: boolean;
}

/**
 * Plans the first steps of a client with these settings. Creates, writes and downloads nothing.
 *
 * @throws {PlatformError} CONFIG_INVALID, HUB_UNREACHABLE, DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
async function planSync(config: SyncConfig): Promise<PlannedDatabase[]> {
  if (config.SYNC_MODE !== 'client')
    throw new PlatformError('COMMAND_INVALID', { reason: '--dry-run is for SYNC_MODE=client' });
  const ca = await readSourceCa(config);
  const hub = createHubClient({
    hosts: hubsOf(config),
    apiKey: config.HUB_API_KEY,
    timeoutMs: HUB_TIMEOUT_MS
  });
  const { databases } = discoverDatabases(await hub.fetchConfigs(), { coordinates: false });
  refuseUnmatched(databases, config);
  const { kept } = excludeDatabases(databases, config.SYNC_EXCLUDE);
  return Promise.all(kept.map(async ({ id, coordinates }) => plan(id, coordinatesOf(config, coordinates), config, ca)));
}

/** Runs `--dry-run`. @returns the plan; exit code 0 when every replica can be made @throws as `planSync` */
export async function describePlan(config: SyncConfig): Promise<Done> {
  const planned = await planSync(config);
  return { text: planText(planned), exitCode: planned.every(({ possible }) => possible) ? 0 : UNAVAILABLE };
}

async function plan(
  id: DatabaseId,
  to: DatabaseCoordinates,
  config: SyncConfig,
  ca: string | undefined
): Promise<PlannedDatabase> {
  const common = { database: databaseKey(id), replica: to.name };
  const unknown = { rows: null, bytes: null, minutes: null };
  const found = await readReplica(to, id.dbType, config.SYNC_LOCAL_TABLES);
  if (found === 'foreign')
    return { ...common, ...unknown, action: 'refused: the database holds tables of another program', possible: false };
  const source = await askSources(id, config, ca);
  if (typeof source === 'string') return { ...common, ...unknown, action: source, possible: false };
  const { height, size } = source;
  if (found !== null && found.height !== null) {
    const behind = height === null ? 0 : Math.max(0, height - found.height);
    return { ...common, ...unknown, action: `catch up from block ${found.height}: ${behind} blocks`, possible: true };
  }
  const { bootstrapDepth, infraOnly } = partOf(id, config);
  const isPart = infraOnly || (bootstrapDepth !== null && height !== null && height > bootstrapDepth);
  const resumed = found === null ? 'bootstrap' : 'continue a bootstrap';
  if (isPart) {
    const part = infraOnly ? 'ten tables' : `the last ${bootstrapDepth} blocks`;
    return { ...common, ...unknown, action: `${resumed} of ${part}, to block ${height}`, possible: true };
  }
  const minutes = size?.rows == null ? null : Math.ceil(size.rows / ROWS_PER_SECOND / 60);
  const action = `${resumed} to block ${height}`;
  return { ...common, action, rows: size?.rows ?? null, bytes: size?.bytes ?? null, minutes, possible: true };
}

/** Reads the state of a replica. @returns null for a database that is empty or missing */
async function readReplica(
  to: DatabaseCoordinates,
  dbType: DbType,
  localTables: readonly string[]
): Promise<ReplicaState | 'foreign' | null> {
  const connection = await connect({ ...to, name: 'information_schema' });
  try {
    const [there] = await rows(connection, 'SELECT 1 FROM SCHEMATA WHERE SCHEMA_NAME = ?', [to.name]);
    if (!there) return null;
    await connection.query(`USE \`${to.name}\``);
    if (await isForeign(connection, dbType, localTables)) return 'foreign';
    const [marker] = await rows(connection, "SHOW TABLES LIKE 'sync_state'");
    return marker ? await readReplicaState(connection) : null;
  } finally {
    connection.destroy();
  }
}

/**
 * Asks sources for height and size. @returns the answer of the first that serves the database; else the reason why none
 * does
 */
async function askSources(
  id: DatabaseId,
  config: SyncConfig,
  ca: string | undefined
): Promise<{ height: number | null; size: SourceSize | null } | string> {
  const faults: string[] = [];
  for (const { url, apiKey } of sourcesOf(config)) {
    const source = new SourceClient(url, apiKey, id, { ca });
    try {
      const { height } = await source.status();
      return { height, size: await source.size() };
    } catch (caught) {
      faults.push(
        hasCode(caught, 'SOURCE_REFUSED') ? `${url} answered ${caught.detail['status']}` : `${url} does not answer`
      );
    } finally {
      await source.close();
    }
  }
  return `waits: no source serves it (${faults.join(', ')})`;
}

/** Returns the plan as text, one line per database. */
function planText(planned: readonly PlannedDatabase[]): string {
  const lines = planned.map(({ database, replica, action, rows: count, bytes, minutes }) => {
    const figures = [
      ...(count === null ? [] : [`about ${count.toLocaleString('en')} rows`]),
      ...(bytes === null ? [] : [`${Math.ceil(bytes / 2 ** 20).toLocaleString('en')} MB in MariaDB`]),
      ...(minutes === null ? [] : [`${minutes} min`])
    ];
    return `${database} -> ${replica}: ${[action, ...figures].join(', ')}`;
  });
  return [...lines, 'nothing was changed'].join('\n');
}
