import { rows, type Statements } from '../../../db/connection.ts';
import { LOG_SETTINGS, obstacleOf } from './support.ts';

/** A place between two transactions of a server's binary log. */
export interface BinlogPosition {
  /** Name of the file, `<base>.<number>`. */
  readonly file: string;
  /** Bytes from the start of the file. */
  readonly offset: number;
}

/** A position and the server whose log it is in. */
export interface ServerPosition extends BinlogPosition {
  /** `@@server_uid`; null where the server has none, as before MariaDB 10.6.16. */
  readonly server: string | null;
  /** Start of the server's process, epoch seconds of its clock, give or take one; absent in files of an earlier version. */
  readonly started?: number;
  /**
   * Whether what is committed is on disk, in the log (`sync_binlog=1`) and in the tables (`innodb_flush_log_at_trx_commit` 1 or 3): then a
   * crash of the machine takes nothing from either, and the log names what is there.
   */
  readonly isSynced?: boolean;
  /** Log sequence number up to which InnoDB was on disk: in a database that was restored it is lower. Absent: not known. */
  readonly written?: number;
  /** Time in the head of the file, epoch milliseconds: another log may have a file of the same name. Absent: not known. */
  readonly began?: number;
}

/** Clock readings and uptimes are whole seconds. */
const START_TOLERANCE_S = 1;

/** Returns whether a server's process is the same at two positions. */
function isOfOneProcess(one: ServerPosition, other: ServerPosition): boolean {
  if (one.started === undefined || other.started === undefined) return false;
  return Math.abs(one.started - other.started) <= START_TOLERANCE_S;
}

/**
 * Returns whether the log has all that was committed between two positions: they are of one server, the second is not before the first,
 * neither in the log nor in the tables, and no crash can have taken the end of the log in between.
 */
export function isOfOneLog(from: ServerPosition, to: ServerPosition): boolean {
  if (from.server === null || from.server !== to.server || !isAtLeast(to, from)) return false;
  if ((to.written ?? 0) < (from.written ?? 0)) return false;
  return to.isSynced === true || isOfOneProcess(from, to);
}

/** Returns whether `at` is `wanted` or later; false for files of different bases, which cannot be compared. */
export function isAtLeast(at: BinlogPosition, wanted: BinlogPosition): boolean {
  const [one, other] = [numbered(at.file), numbered(wanted.file)];
  if (one.base !== other.base) return false;
  return one.number === other.number ? at.offset >= wanted.offset : one.number > other.number;
}

function numbered(file: string): { readonly base: string; readonly number: number } {
  const dot = file.lastIndexOf('.');
  return { base: file.slice(0, dot), number: Number(file.slice(dot + 1)) };
}

/** A server's statements about its log, beside a snapshot. */
interface LogState {
  /** Position before which the snapshot has every transaction, and after which none. Null: the server writes no log, or is no MariaDB. */
  readonly at: ServerPosition | null;
  /** Reason why the log does not name every row that changes, with the remedy; null when it does. */
  readonly obstacle: string | null;
}

const SERVER_VARIABLES = ['server_uid', 'sync_binlog', 'innodb_flush_log_at_trx_commit', ...LOG_SETTINGS];
/** Values by which InnoDB flushes its log with each commit. */
const FLUSHED = new Set(['1', '3']);
const SERVER_STATUS = [
  'Binlog_snapshot_file',
  'Binlog_snapshot_position',
  'Uptime',
  'Slaves_running',
  'Innodb_lsn_flushed'
];

/**
 * Reads the position of the connection's open consistent snapshot, and whether the log is whole. MariaDB tells both to every account.
 *
 * The settings are read with each snapshot: an operator changes them, or starts a replication, while a server runs.
 */
export async function readLogState(statements: Statements): Promise<LogState> {
  const [status, variables, [clock]] = await Promise.all([
    readValues(statements, `SHOW STATUS WHERE Variable_name IN (${listOf(SERVER_STATUS)})`),
    readValues(statements, `SHOW GLOBAL VARIABLES WHERE Variable_name IN (${listOf(SERVER_VARIABLES)})`),
    rows<{ now: number }>(statements, 'SELECT UNIX_TIMESTAMP() AS now')
  ]);
  const obstacle = obstacleOf(variables, Number(status.get('slaves_running') ?? 0));
  const file = status.get('binlog_snapshot_file');
  const offset = Number(status.get('binlog_snapshot_position'));
  if (!file || !Number.isSafeInteger(offset) || offset <= 0) return { at: null, obstacle };
  const started = Number(clock!.now) - Number(status.get('uptime'));
  const isFlushed = FLUSHED.has(variables.get('innodb_flush_log_at_trx_commit') ?? '');
  const isSynced = isFlushed && variables.get('sync_binlog') === '1';
  const written = Number(status.get('innodb_lsn_flushed') ?? 0);
  return { at: { file, offset, server: variables.get('server_uid') ?? null, started, isSynced, written }, obstacle };
}

function listOf(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(', ');
}

async function readValues(statements: Statements, sql: string): Promise<ReadonlyMap<string, string>> {
  const found = await rows<{ Variable_name: string; Value: string }>(statements, sql);
  return new Map(found.map(({ Variable_name, Value }) => [Variable_name.toLowerCase(), Value]));
}
