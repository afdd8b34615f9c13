import { type Connection, rows, type Statements } from '../../../db/connection.ts';
import { type StatementBatch, write } from '../../../db/statement-batch.ts';
import { PlatformError } from '../../../errors.ts';
import type { BlockHashes, DbType } from '../../../wire/data/database.ts';
import type { Halt } from '../../../wire/state/report.ts';
import { classByName } from '../../tables/classify.ts';
import { createControlTables } from '../../tables/control-tables.ts';
import { isoTime } from '../../tables/transparency-pages.ts';
import type { IdOrigin } from './carried-ids.ts';

/** The replica's unfinished work; durable, so that a restart continues it. */
export type ReplicaPhase = 'adopting' | 'bootstrapping' | 'catchingUp' | 'reconciling' | 'following';

/** Returns the phase of a replica that went back. An adoption continues: no part of it has been compared yet. */
export const phaseBack = ({ phase }: Pick<ReplicaState, 'phase'>): ReplicaPhase =>
  phase === 'adopting' ? 'adopting' : 'reconciling';

/** Progress of a bootstrap from one artifact, whose tables belong to one height. */
export interface BootstrapProgress {
  readonly source: string;
  readonly etag: string | null;
  /** Tables that are fully loaded. */
  readonly done: Readonly<Record<string, number>>;
}

/** The last replacement of a table that no block carries; with the height if the source named it. */
export interface AsOf {
  readonly height: number | null;
  readonly at: string;
}

/** The position of a comparison that goes table by table: large ones first, each as it was at a block of its own. */
interface ComparedTables {
  readonly source: string;
  readonly fingerprint: string | null;
  /** Position of the replica when the first of them was compared, and the time. */
  readonly height: number;
  readonly at: string;
  readonly tables: readonly string[];
  /** Rows that were compared. */
  readonly rows: number;
}

/** The one row of `sync_state`. */
export interface ReplicaState {
  /** The replica equals the source's history at `height`. Set last and cleared first. */
  readonly complete: boolean;
  readonly phase: ReplicaPhase;
  readonly height: number | null;
  readonly blockTime: number | null;
  readonly hashes: BlockHashes | null;
  /** Fingerprint of the source's schema that this replica's tables follow. */
  readonly schemaFingerprint: string | null;
  readonly source: string | null;
  readonly bootstrap: BootstrapProgress | null;
  /** The last height at which all tables were compared with the source's and found equal, and when. */
  readonly verifiedHeight: number | null;
  readonly verifiedAt: string | null;
  /** Tables that a comparison under way has found equal; null: none, or it is void. */
  readonly compared: ComparedTables | null;
  /** A truncated replica holds no blocks below this one; null: it has its source's whole history. */
  readonly floor: number | null;
  /** Whether it has only the ten tables of an infra-only subscription. */
  readonly infraOnly: boolean;
  /** A decoder's dispensers have a time of their own; null: not known. */
  readonly dispensers: AsOf | null;
  /** Number of times that rows which differed from the source's were replaced. */
  readonly repairs: number;
  readonly ids: IdOrigin;
  /** Tables of the source that are left out, with the reason. */
  readonly notReplicated: Readonly<Record<string, string>>;
  /** Amendments of the last block that were applied; null: not known. */
  readonly amendments: number | null;
  /** Rows are missing that no message brings: the replica is complete again when a comparison has found it equal. */
  readonly misses: boolean;
  /** The last height at which the replica had everything that changed up to it; null: not known. */
  readonly settledHeight: number | null;
  /** The source's `learned` when the replica was made of it, or compared equal; null: not known. @see LearnedSchema */
  readonly learned: string | null;
  /** The life of the source that sent the last block; null: not known. @see LivesSchema */
  readonly life: string | null;
}

const TABLES = [
  `CREATE TABLE IF NOT EXISTS sync_state (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY, complete TINYINT(1) NOT NULL, phase VARCHAR(32) NOT NULL, height BIGINT NULL,
    block_time BIGINT NULL, hashes TEXT NULL, schema_fingerprint VARCHAR(64) NULL, source TEXT NULL, bootstrap LONGTEXT NULL,
    verified_height BIGINT NULL, verified_at VARCHAR(32) NULL, repairs BIGINT UNSIGNED NOT NULL DEFAULT 0,
    floor BIGINT NULL, infra_only TINYINT(1) NOT NULL DEFAULT 0, dispensers TEXT NULL, ids TEXT NULL, not_replicated LONGTEXT NULL,
    amendments BIGINT NULL, misses TINYINT(1) NOT NULL DEFAULT 0, settled_height BIGINT NULL,
    learned VARCHAR(64) NULL, life VARCHAR(64) NULL, compared LONGTEXT NULL,
    updated_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`,
  // For replicas that were made before there were comparisons and parts.
  `ALTER TABLE sync_state ADD COLUMN IF NOT EXISTS verified_height BIGINT NULL AFTER bootstrap,
    ADD COLUMN IF NOT EXISTS verified_at VARCHAR(32) NULL AFTER verified_height,
    ADD COLUMN IF NOT EXISTS repairs BIGINT UNSIGNED NOT NULL DEFAULT 0 AFTER verified_at,
    ADD COLUMN IF NOT EXISTS floor BIGINT NULL AFTER repairs,
    ADD COLUMN IF NOT EXISTS infra_only TINYINT(1) NOT NULL DEFAULT 0 AFTER floor,
    ADD COLUMN IF NOT EXISTS dispensers TEXT NULL AFTER infra_only, ADD COLUMN IF NOT EXISTS ids TEXT NULL AFTER dispensers,
    ADD COLUMN IF NOT EXISTS not_replicated LONGTEXT NULL AFTER ids,
    ADD COLUMN IF NOT EXISTS amendments BIGINT NULL AFTER not_replicated,
    ADD COLUMN IF NOT EXISTS misses TINYINT(1) NOT NULL DEFAULT 0 AFTER amendments,
    ADD COLUMN IF NOT EXISTS settled_height BIGINT NULL AFTER misses,
    ADD COLUMN IF NOT EXISTS learned VARCHAR(64) NULL AFTER settled_height,
    ADD COLUMN IF NOT EXISTS life VARCHAR(64) NULL AFTER learned,
    ADD COLUMN IF NOT EXISTS compared LONGTEXT NULL AFTER life`,
  `CREATE TABLE IF NOT EXISTS sync_undo (
    seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, group_first BIGINT NOT NULL, group_last BIGINT NOT NULL,
    kind VARCHAR(8) NOT NULL, table_name VARCHAR(64) NULL, body LONGTEXT NOT NULL, KEY group_last (group_last)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`,
  `CREATE TABLE IF NOT EXISTS sync_halt (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, block_index INT UNSIGNED NULL, reason VARCHAR(250) NOT NULL,
    mismatches LONGTEXT NULL, sources LONGTEXT NULL, detected_at DATETIME(6) NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`
] as const;

/** The columns that identify a table `sync_state` as ours; later versions add columns. */
const MARKER_COLUMNS = ['id', 'complete', 'phase', 'height', 'block_time', 'hashes', 'schema_fingerprint', 'bootstrap'];

/** Returns whether this client made the database. Another program may have a table of the same name. */
export async function isMarked(connection: Connection): Promise<boolean> {
  const [row] = await rows(
    connection,
    "SELECT COUNT(*) AS n FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sync_state' AND COLUMN_NAME IN (?)",
    [MARKER_COLUMNS]
  );
  return Number(row?.['n']) === MARKER_COLUMNS.length;
}

/** Returns whether a database lacks our marker and has tables other than those of its node, which are never touched. */
export async function isForeign(
  connection: Connection,
  dbType: DbType,
  localTables: readonly string[] = []
): Promise<boolean> {
  const found = await rows<{ name: string }>(
    connection,
    'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()'
  );
  const isOwn = (name: string) =>
    ['sync_undo', 'sync_halt'].includes(name) ||
    (classByName(name, dbType, localTables) === 'local' && !name.startsWith('sync_'));
  return found.some(({ name }) => !isOwn(name)) && !(await isMarked(connection));
}

/**
 * Reads the marker, making it in a database that has no tables but those of its own node.
 *
 * @throws {PlatformError} REPLICA_FOREIGN when there are tables but no marker: nothing is touched then
 */
export async function openReplicaState(
  connection: Connection,
  dbType: DbType,
  localTables: readonly string[] = []
): Promise<ReplicaState> {
  if (await isForeign(connection, dbType, localTables)) {
    const reason = 'the database has tables, but this client did not make them';
    throw new PlatformError('REPLICA_FOREIGN', { reason });
  }
  // The marker is made first: a crash between these statements leaves a database that is known to be ours.
  for (const statement of TABLES) await connection.query(statement);
  if (dbType === 'indexer') await createControlTables(connection);
  await connection.query("INSERT IGNORE INTO sync_state (id, complete, phase) VALUES (1, 0, 'bootstrapping')");
  return readReplicaState(connection);
}

/**
 * Makes the marker of a database that another client made. It appears complete or not at all: a marker without its height
 * would mean a bootstrap, which begins with empty tables.
 */
export async function markAdopted(
  connection: Connection,
  {
    height,
    blockTime,
    hashes,
    schemaFingerprint,
    source
  }: Pick<ReplicaState, 'height' | 'blockTime' | 'hashes' | 'schemaFingerprint' | 'source'>
): Promise<void> {
  const [marker, , ...others] = TABLES;
  for (const statement of others) await connection.query(statement);
  await connection.query('DROP TABLE IF EXISTS sync_state_new');
  await connection.query(marker.replace('sync_state', 'sync_state_new'));
  await connection.query(
    `INSERT INTO sync_state_new (id, complete, phase, height, block_time, hashes, schema_fingerprint, source)
     VALUES (1, 0, 'adopting', ?, ?, ?, ?, ?)`,
    [height, blockTime, JSON.stringify(hashes), schemaFingerprint, source]
  );
  await connection.query('RENAME TABLE sync_state_new TO sync_state');
}

/** Reads the marker. */
export async function readReplicaState(connection: Statements): Promise<ReplicaState> {
  const [row] = await rows(connection, 'SELECT * FROM sync_state WHERE id = 1');
  if (!row) throw new PlatformError('DATABASE_UNUSABLE', { reason: 'table sync_state has no row' });
  const json = <T>(value: unknown) => (value === null ? null : (JSON.parse(String(value)) as T));
  const number = (value: unknown) => (value === null ? null : Number(value));
  return {
    complete: Number(row['complete']) === 1,
    phase: String(row['phase']) as ReplicaPhase,
    height: number(row['height']),
    blockTime: number(row['block_time']),
    hashes: json<BlockHashes>(row['hashes']),
    schemaFingerprint: row['schema_fingerprint'] as string | null,
    source: row['source'] as string | null,
    bootstrap: json<BootstrapProgress>(row['bootstrap']),
    verifiedHeight: number(row['verified_height']),
    verifiedAt: row['verified_at'] as string | null,
    floor: number(row['floor']),
    infraOnly: Number(row['infra_only']) === 1,
    dispensers: json<AsOf>(row['dispensers']),
    repairs: Number(row['repairs']),
    ids: json<IdOrigin>(row['ids']) ?? { source: null, own: [] },
    notReplicated: json<Record<string, string>>(row['not_replicated']) ?? {},
    amendments: number(row['amendments']),
    misses: Number(row['misses']) === 1,
    settledHeight: number(row['settled_height']),
    learned: row['learned'] as string | null,
    life: row['life'] as string | null,
    compared: json<ComparedTables>(row['compared'])
  };
}

const COLUMNS: Readonly<Record<keyof ReplicaState, string>> = {
  complete: 'complete',
  phase: 'phase',
  height: 'height',
  blockTime: 'block_time',
  hashes: 'hashes',
  schemaFingerprint: 'schema_fingerprint',
  source: 'source',
  bootstrap: 'bootstrap',
  verifiedHeight: 'verified_height',
  verifiedAt: 'verified_at',
  floor: 'floor',
  infraOnly: 'infra_only',
  dispensers: 'dispensers',
  repairs: 'repairs',
  ids: 'ids',
  notReplicated: 'not_replicated',
  amendments: 'amendments',
  misses: 'misses',
  settledHeight: 'settled_height',
  learned: 'learned',
  life: 'life',
  compared: 'compared'
};

/** Changes some fields of the marker, as part of the caller's transaction if there is one. */
export async function writeReplicaState(connection: Statements, change: Partial<ReplicaState>): Promise<void> {
  const { list, values } = assignments(change);
  await write(connection, `UPDATE sync_state SET ${list} WHERE id = 1`, values);
}

/** Writes the marker along with the batch's next statements, if it is where it is expected. @returns rows that were */
export async function moveReplicaState(
  batch: StatementBatch,
  expected: number | null,
  change: Partial<ReplicaState>
): Promise<number> {
  const { list, values } = assignments(change);
  const sql = `UPDATE sync_state SET ${list} WHERE id = 1 AND height <=> ?`;
  const [result] = await batch.along(sql, [...values, expected]);
  return matchedRows(result);
}

/** Returns the number of rows that an UPDATE found; it may have had to change fewer. */
export function matchedRows(result: unknown): number {
  const { info = '' } = result as { info?: string };
  return Number(/Rows matched: (\d+)/.exec(info)?.[1] ?? 0);
}

function assignments(change: Partial<ReplicaState>): { list: string; values: unknown[] } {
  const entries = Object.entries(change) as [keyof ReplicaState, unknown][];
  return {
    list: entries.map(([name]) => `${COLUMNS[name]} = ?`).join(', '),
    values: entries.map(([, value]) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value))
  };
}

/**
 * Reads the durable halt; null when there is none.
 *
 * It has a table of its own beside the events of `src/db/halts.ts`: the specification names `sync_halt` as a control
 * table, and other clients keep their halt in it.
 */
export async function readHalt(connection: Connection): Promise<Halt | null> {
  const [row] = await rows(connection, 'SELECT * FROM sync_halt WHERE id = 1');
  if (!row) return null;
  const json = (value: unknown): unknown => (value === null ? null : JSON.parse(String(value)));
  return {
    block_index: row['block_index'] === null ? null : Number(row['block_index']),
    reason: String(row['reason']),
    mismatches: json(row['mismatches']),
    sources: json(row['sources']),
    detected_at: new Date(isoTime(String(row['detected_at']))).toISOString()
  };
}

/** Records a halt; it survives restarts until `clearHalt`. */
export async function writeHalt(connection: Connection, halt: Halt): Promise<void> {
  const { block_index, reason, mismatches, sources, detected_at } = halt;
  await connection.query(
    'REPLACE INTO sync_halt (id, block_index, reason, mismatches, sources, detected_at) VALUES (1, ?, ?, ?, ?, ?)',
    [
      block_index,
      reason.slice(0, 250),
      JSON.stringify(mismatches),
      JSON.stringify(sources),
      detected_at.replace('T', ' ').replace('Z', '')
    ]
  );
}

/** Removes the durable halt. Only an operator's request leads here. */
export async function clearHalt(connection: Connection): Promise<void> {
  await connection.query('DELETE FROM sync_halt');
}
