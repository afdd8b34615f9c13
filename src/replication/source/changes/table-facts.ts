import { rows, type SqlRow, type Statements } from '../../../db/connection.ts';
import { FINDER_KEY } from '../../../db/keys.ts';

/** The server's facts about a table, known without reading it. */
export interface TableFacts {
  readonly name: string;
  /** An estimate of InnoDB's; exact for MyISAM. */
  readonly rows: number;
  /** A change that is committed moves this, within a second; null: not since the server started, or forgotten. */
  readonly updateTime: string | null;
  /** The same as Unix time in seconds. */
  readonly changedAt: number | null;
  /** Whether a change that is committed later may show the same time. */
  readonly isFresh: boolean;
  /** Moved by every change of the definition. */
  readonly createTime: string | null;
  /** Whether a later change of the definition may show the same time. */
  readonly isNew: boolean;
  /** The id that the next row will get; null where there is no such column. */
  readonly nextId: number | null;
  /** Every change shows in the table's times; otherwise they say nothing. */
  readonly isTimed: boolean;
  /** Start of the server's process, epoch seconds, give or take one. */
  readonly started: number;
  /** Number of tables that the server had opened before it said these facts, and after. */
  readonly opened: Around;
  /** The same of the statements ALTER TABLE that it had begun. */
  readonly altered: Around;
}

/** A counter of the server before and after other facts of it were read. */
type Around = readonly [before: number, after: number];

/** The facts by which a table shows that it changed. */
export type TableTimes = Pick<
  TableFacts,
  'updateTime' | 'createTime' | 'isTimed' | 'started' | 'rows' | 'opened' | 'altered'
>;

/** A table shows the second in which the transaction that changed it began; the next one may have begun in the same. */
const FRESH_S = 10;
/**
 * Engines that keep the time of a table's last change. MEMORY shows NULL whatever happens; Aria shows when it wrote the table's file, which
 * it does minutes later.
 */
const TIMED_ENGINES = new Set(['INNODB', 'MYISAM']);
/** A table of partitions shows the latest of their times: what empties or exchanges another one moves none. */
const PARTITIONED = /\bpartitioned\b/i;
/** Clock readings and uptimes are whole seconds. */
const START_TOLERANCE_S = 1;

/**
 * Returns whether a change of the table or of its definition that is not seen yet will show another time, however long
 * its transaction takes.
 *
 * @param before UPDATE_TIME of `blocks` as it was with the group before; null: not known. Blocks are written one after the other, so
 * the transaction of a later block began in that second or after it
 */
export function isSettled({ updateTime, isFresh, isNew, isTimed }: TableFacts, before: string | null): boolean {
  return isTimed && !isFresh && !isNew && (updateTime === null || (before !== null && updateTime < before));
}

/**
 * Returns whether a table shows no change between two moments: a change that shows the second of the one before is not
 * seen.
 */
export function isUnmoved(before: TableTimes, now: TableTimes): boolean {
  if (!now.isTimed || hasMoved(before, now)) return false;
  // A server forgets the time of a table that leaves its cache, and opens that table again when it is asked for the time.
  return now.updateTime !== null || before.opened[0] === now.opened[1];
}

/** Returns whether files of a table may have been imported between two moments: they bring other rows, and move no time. */
export function mayBeImported(before: TableTimes, now: TableTimes): boolean {
  return before.altered[0] !== now.altered[1];
}

/** Returns whether a table shows a change between two moments. Where it shows none, it may have changed: see `isUnmoved`. */
export function hasMoved(before: TableTimes, now: TableTimes): boolean {
  if (before.updateTime !== now.updateTime || before.createTime !== now.createTime) return true;
  if (now.updateTime !== null) return false;
  // A server that ends forgets when its tables were changed, and TRUNCATE moves no time.
  return before.rows !== now.rows || Math.abs(before.started - now.started) > START_TOLERANCE_S;
}

/** Counters of a server since it started. */
interface ServerCounters {
  /** Tables opened. Where the caches hold all tables it stands still. */
  readonly opened: number;
  /** Statements ALTER TABLE begun. */
  readonly altered: number;
}

async function readCounters(connection: Statements): Promise<ServerCounters> {
  const sql = `SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS n FROM information_schema.GLOBAL_STATUS
    WHERE VARIABLE_NAME IN ('OPENED_TABLES', 'COM_ALTER_TABLE')`;
  const found = new Map((await rows(connection, sql)).map(({ name, n }) => [String(name), Number(n)]));
  return { opened: found.get('OPENED_TABLES') ?? 0, altered: found.get('COM_ALTER_TABLE') ?? 0 };
}

/**
 * Reads MariaDB's facts about each table, in some 2 ms for 150 tables.
 *
 * It shows where to look first. Never rely on it alone: a transaction that committed at :36 may show :34, and a
 * server forgets times when it starts, and of tables that it closes.
 */
export async function readTableFacts(connection: Statements): Promise<ReadonlyMap<string, TableFacts>> {
  // They are carried out in this order.
  const [before, found, after] = await Promise.all([
    readCounters(connection),
    readFacts(connection),
    readCounters(connection)
  ]);
  // Without its key, anyone who writes rows could predict a checksum.
  if (found.some((row) => Number(row['keyless']) === 1))
    throw new Error('a connection without the key of the change finder');
  const around = {
    opened: [before.opened, after.opened],
    altered: [before.altered, after.altered]
  } as const;
  return new Map(found.map((row) => [String(row['name']), { ...toFacts(row), ...around }]));
}

function readFacts(connection: Statements): Promise<SqlRow[]> {
  return rows(
    connection,
    `SELECT TABLE_NAME AS name, ENGINE AS engine, CREATE_OPTIONS AS options, (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME = 'MYISAM_USE_MMAP') AS mapped, TABLE_ROWS AS n, UPDATE_TIME AS t, CREATE_TIME AS c, AUTO_INCREMENT AS i, UNIX_TIMESTAMP(UPDATE_TIME) AS u,
       UNIX_TIMESTAMP(NOW()) - UNIX_TIMESTAMP(UPDATE_TIME) AS age, UNIX_TIMESTAMP(NOW()) - UNIX_TIMESTAMP(CREATE_TIME) AS made, ${FINDER_KEY} IS NULL AS keyless,
       UNIX_TIMESTAMP() - (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME') AS started
     FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()`
  );
}

function toFacts(row: SqlRow): Omit<TableFacts, 'opened' | 'altered'> {
  const text = (value: unknown) => (value === null ? null : String(value));
  return {
    name: String(row['name']),
    rows: Number(row['n'] ?? 0),
    updateTime: text(row['t']),
    changedAt: row['u'] === null ? null : Math.floor(Number(row['u'])),
    isFresh: row['age'] !== null && Number(row['age']) <= FRESH_S,
    createTime: text(row['c']),
    isNew: row['made'] === null || Number(row['made']) <= FRESH_S,
    nextId: row['i'] === null ? null : Number(row['i']),
    isTimed: isTimed(row),
    started: Math.round(Number(row['started']))
  };
}

/** Returns whether every change shows in a table's times. */
function isTimed({ engine, options, mapped }: SqlRow): boolean {
  const name = String(engine).toUpperCase();
  // The kernel writes what is mapped into memory, and its time, when it likes.
  const isMapped = name === 'MYISAM' && String(mapped).toUpperCase() === 'ON';
  return TIMED_ENGINES.has(name) && !PARTITIONED.test(String(options ?? '')) && !isMapped;
}
