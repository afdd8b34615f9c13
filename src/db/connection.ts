import type { Duplex } from 'node:stream';
import mysql from 'mysql2';
import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  createPool,
  type Pool,
  type RowDataPacket
} from 'mysql2/promise';
import { PlatformError } from '../errors.ts';
import { tookQuery } from '../observe/counters.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import { FINDER_KEY, keyLiteral } from './keys.ts';

export type { Connection, Pool, QueryOptions } from 'mysql2/promise';

/** Runs statements in order: a connection sends each at once, a batch sends several in one message. */
export type Statements = Pick<Connection, 'query'>;
export type SqlRow = Record<string, unknown>;

/**
 * Set on every new connection, so that no server default can change what is stored or read. What a source holds is stored as it is: dates
 * that its own mode allowed, JSON that its own checks let pass, tables that its own server took to be too wide.
 */
const SESSION = [
  // With unique_checks off, a bulk load that meets a duplicate takes rows before it along.
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00', max_error_count = 64, unique_checks = 1, group_concat_max_len = 1048576, max_sort_length = 1024",
  'SET SESSION autocommit = 1, completion_type = 0, sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_auto_is_null = 0, sql_quote_show_create = 1 /*M! , check_constraint_checks = 0, innodb_strict_mode = 0, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0 */',
  // A connection may rest between two blocks, a locked writer and an open snapshot too; a slow reader of rows is no dead one.
  'SET SESSION wait_timeout = 604800, net_read_timeout = 600, net_write_timeout = 600',
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ' // a consistent snapshot is one only at this level
] as const;

const CONNECT_TIMEOUT_MS = 5_000;
/** Idle time after which a connection is probed: networks forget silent ones within minutes, and the driver never asks. */
const KEEP_ALIVE_MS = 30_000;
/** Statements and the texts that rows are compared by are shorter. */
const SMALLEST_PACKET = 4 * 2 ** 20;
const SHA256_OF_ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

/**
 * Returns the driver's options. Integers beyond 2^53 arrive as decimal strings, DECIMAL as strings, dates as MariaDB prints them,
 * binary as Buffers. The caller limits statements by `SET SESSION max_statement_time`.
 */
function driverOptions(to: Omit<DatabaseCoordinates, 'name'> & { readonly name?: string }): ConnectionOptions {
  return {
    ...(to.socketPath ? { socketPath: to.socketPath } : { host: to.host, port: to.port }),
    ...tlsOptions(to),
    user: to.user,
    password: to.pass,
    ...(to.name === undefined ? {} : { database: to.name }),
    charset: 'utf8mb4_general_ci',
    supportBigNumbers: true,
    bigNumberStrings: false,
    decimalNumbers: false,
    dateStrings: true,
    jsonStrings: true,
    typeCast: readExactly,
    connectTimeout: CONNECT_TIMEOUT_MS,
    enableKeepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    flags: ['-FOUND_ROWS']
  };
}

/**
 * Returns options for an encrypted connection, refused unless a given authority signed the server's certificate for the
 * name by which it is reached.
 */
export function tlsOptions({ tls, socketPath }: Pick<DatabaseCoordinates, 'tls' | 'socketPath'>) {
  if (tls === undefined || socketPath !== undefined) return {};
  return { ssl: { ca: tls.ca, rejectUnauthorized: true, verifyIdentity: true, minVersion: 'TLSv1.2' } };
}

/** The driver's own reading of a double with 16 digits is now and then off by the last of them. */
const readExactly: NonNullable<Exclude<ConnectionOptions['typeCast'], boolean>> = (field, next) => {
  if (field.type !== 'DOUBLE' && field.type !== 'FLOAT') return next();
  const text = field.string();
  return text === null ? null : Number(text);
};

/** Returns host and port, or the socket, of a database's server. */
export function placeOf({ socketPath, host, port }: Pick<DatabaseCoordinates, 'socketPath' | 'host' | 'port'>): string {
  return socketPath ?? `${host}:${port}`;
}

/**
 * Settings of one connection. The tag marks its statements, so that a successor can find and end those that a dead actor left
 * running.
 */
interface ConnectOptions {
  /** Goes before each statement as a comment: `platform <database> <actor generation>`. */
  readonly tag?: string;
  /** Seconds a statement may run; 0 is no limit. Progress is then the caller's to watch. */
  readonly statementLimitS?: number;
  /** Seconds a statement waits for a table that another session changes or locks; default: the server's, mostly a day. */
  readonly lockLimitS?: number;
  /** Allows several statements in one message: see `StatementBatch`. */
  readonly several?: boolean;
  /** 32 hex digits under which it reads checksums of tables, named `FINDER_KEY` in SQL. */
  readonly finderKey?: string;
}

/** Returns the tag of one start of one actor. */
export function statementTag(databaseName: string, generation: number): string {
  return `platform ${databaseName} ${generation}`;
}

/**
 * Opens one connection with this system's session settings.
 *
 * @throws {PlatformError} DATABASE_REFUSED (account), DATABASE_UNUSABLE, DATABASE_UNAVAILABLE (no answer, database or right yet)
 */
export async function connect(
  to: Omit<DatabaseCoordinates, 'name'> & { readonly name?: string },
  { tag, statementLimitS, lockLimitS, several = false, finderKey }: ConnectOptions = {}
): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    connection = await createConnection({ ...driverOptions(to), multipleStatements: several });
    // A lost connection fails the waiting statement; between statements, it fails the next one.
    connection.on('error', () => undefined);
    failWhenDestroyed(connection);
    await checkServer(connection);
    for (const statement of SESSION) await connection.query(statement);
    if (finderKey !== undefined) await connection.query(`SET ${FINDER_KEY} = ${keyLiteral(finderKey)}`);
    if (statementLimitS !== undefined) await connection.query(`SET SESSION max_statement_time = ${statementLimitS}`);
    if (lockLimitS !== undefined) await connection.query(`SET SESSION lock_wait_timeout = ${lockLimitS}`);
    if (tag !== undefined) markStatements(connection, tag);
    timeStatements(connection);
    return connection;
  } catch (caught) {
    connection?.destroy();
    throw databaseError(caught, { host: placeOf(to), database: to.name });
  }
}

/**
 * Checks the server. A text longer than a packet is NULL to SQL functions, without an error; so are the hashes of a
 * server whose TLS library lacks them. MariaDB alone reads what stands in a comment with an M.
 */
async function checkServer(connection: Connection): Promise<void> {
  const [found] = await rows<{ kind: number; version: string; bytes: number; hash: string | null }>(
    connection,
    "SELECT 1 /*M! + 1 */ AS kind, VERSION() AS version, @@max_allowed_packet AS bytes, SHA2('abc', 256) AS hash"
  );
  if (Number(found?.kind) !== 2) {
    const reason = `the server is MySQL ${found?.version}, or another one that is no MariaDB: use MariaDB 10.6 or later`;
    throw new PlatformError('DATABASE_UNUSABLE', { reason });
  }
  if (Number(found?.bytes) < SMALLEST_PACKET) {
    const reason = `max_allowed_packet of the server is ${found?.bytes}: set it to ${SMALLEST_PACKET} or more`;
    throw new PlatformError('DATABASE_UNUSABLE', { reason });
  }
  if (found?.hash === SHA256_OF_ABC) return;
  const reason = `SHA2('abc', 256) is ${found?.hash} on this server: rows cannot be compared; use a MariaDB that was built with SHA-2`;
  throw new PlatformError('DATABASE_UNUSABLE', { reason });
}

/** Replaces the driver's own `destroy`, which only half-closes the socket: a waiting statement would never end. */
function failWhenDestroyed(connection: Connection): void {
  const { stream } = (connection as unknown as { connection: { stream: Duplex } }).connection;
  connection.destroy = () => void stream.destroy(endedHere());
}

const endedHere = () => new Error('the connection was ended here');

const TAGS = new WeakMap<Connection, string>();

/**
 * Returns a statement with its connection's tag before it. MariaDB keeps a leading comment in the process list, where
 * the reaper reads it.
 */
export function tagged(connection: Connection, sql: string): string {
  const tag = TAGS.get(connection);
  return tag === undefined ? sql : `/* ${tag} */ ${sql}`;
}

function markStatements(connection: Connection, tag: string): void {
  TAGS.set(connection, tag);
  const { connection: raw } = connection as unknown as {
    connection: { query: (first: string | { sql: string }, ...rest: unknown[]) => unknown };
  };
  const query = raw.query.bind(raw);
  const mark = (sql: string) => tagged(connection, sql);
  raw.query = (first, ...rest) =>
    query(typeof first === 'string' ? mark(first) : Object.assign(first, { sql: mark(first.sql) }), ...rest);
}

/** Times statements, each from its hand-over to the end of its result. */
function timeStatements(connection: Connection): void {
  const { connection: raw } = connection as unknown as {
    connection: { query: (...given: unknown[]) => { once(event: 'end', listener: () => void): void } };
  };
  const query = raw.query.bind(raw);
  raw.query = (...given) => {
    const began = performance.now();
    const command = query(...given);
    command.once('end', () => tookQuery(performance.now() - began));
    return command;
  };
}

/** Statements that one connection keeps prepared; the server has room for 16,382 of all connections together. */
const MAX_PREPARED = 500;

/** Usage of a pool's connections. */
interface PoolOptions extends Pick<ConnectOptions, 'statementLimitS' | 'several'> {
  /** Rows come by `preparedRows`, whose protocol has doubles as they are. */
  readonly binary?: boolean;
  /** Few rows are read, each by an index: a join allocates no buffer, which costs more than such a read. */
  readonly fewRows?: boolean;
}

/** Session setting for `fewRows`. */
export const NO_JOIN_BUFFERS = 'SET SESSION join_cache_level = 0';

/** Callers that may wait for a connection of a pool. */
export const MOST_QUEUED = 256;

/**
 * Opens a small pool whose connections have this system's session settings. Where too many wait for a connection, one
 * more is refused with ANSWERS_WAITING: that says nothing of the database.
 */
export function openPool(
  to: DatabaseCoordinates,
  size: number,
  { statementLimitS, several = false, binary = false, fewRows = false }: PoolOptions = {}
): Pool {
  const pool = createPool({
    ...driverOptions(to),
    multipleStatements: several,
    connectionLimit: size,
    maxIdle: size,
    queueLimit: MOST_QUEUED,
    ...(binary ? { maxPreparedStatements: MAX_PREPARED, typeCast: true } : {})
  });
  nameFullQueue(pool.pool);
  const limit = statementLimitS === undefined ? [] : [`SET SESSION max_statement_time = ${statementLimitS}`];
  const session = [...SESSION, ...limit, ...(fewRows ? [NO_JOIN_BUFFERS] : [])];
  pool.pool.on('connection', (raw) => {
    const [{ stream }, leave] = [raw as unknown as { stream: Duplex }, raw.destroy.bind(raw)];
    raw.on('error', () => undefined); // as `connect`
    raw.destroy = () => {
      leave(); // the pool's places, at once
      stream.destroy(endedHere());
    };
    for (const statement of session) raw.query(statement, (fault) => fault && raw.destroy());
  });
  return pool;
}

/** Gives the driver's error for a full queue a code: it has neither a code nor a number, and would be taken for a lost database. */
function nameFullQueue(pool: mysql.Pool): void {
  const getConnection = pool.getConnection.bind(pool);
  const name = (fault: NodeJS.ErrnoException | null) => {
    if (fault?.message !== 'Queue limit reached.') return fault;
    return new PlatformError('ANSWERS_WAITING', { reason: `${MOST_QUEUED} others wait for a connection` });
  };
  pool.getConnection = (take) => getConnection((fault, connection) => take(name(fault), connection));
}

/** Codes of MariaDB that refuse the account itself. */
const REFUSALS = new Set([
  'ER_ACCESS_DENIED_ERROR',
  'ER_ACCESS_DENIED_NO_PASSWORD_ERROR',
  'ER_NOT_SUPPORTED_AUTH_MODE'
]);

/** Numbers for a database, or a right on it, that is not there. Another service may be about to make it, or an operator. */
const AWAITED: ReadonlySet<number> = new Set([1044, 1049, 1142, 1143, 1227]);
/** Numbers for a disk, a temporary file or a table space without room. */
const FULL: ReadonlySet<number> = new Set([3, 20, 1021, 1026, 1114]);
/** The storage engine's own number, in the words behind this one; 28 is a full disk. */
const ENGINE_FAILED = 1030;
const ENGINE_FULL = /\berror 28\b/;
/** Numbers for a server that takes no writes. */
const READ_ONLY: ReadonlySet<number> = new Set([1290, 1792, 1836]);
/** Numbers for a server without memory or threads, or whose settings hold no transaction of this size. */
const SHORT: ReadonlySet<number> = new Set([1037, 1041, 1135, 1197, 1206]);
/**
 * Faults that pass: too many connections, lock waits, deadlocks, rows and tables changed after the snapshot, lost and killed
 * connections, servers that cannot write: no fault of the statement.
 */
const PASSING = new Set([
  ...[...AWAITED, ...FULL, ...READ_ONLY, ...SHORT],
  ...[1020, 1040, 1053, 1205, 1213, 1317, 1412, 1927, 1969, 2006, 2013]
]);

/** Returns whether MariaDB or the driver failed, and not the code that uses them. */
export function isDriverError(caught: unknown): boolean {
  const { sqlState, fatal } = Object(caught) as { sqlState?: string; fatal?: boolean };
  return sqlState !== undefined || fatal === true;
}

/** The driver's and MariaDB's words for a connection that is gone. */
const LOSSES = new Set<unknown>(['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE', 1053, 1927, 2006, 2013]);

/** Returns whether a statement failed because its connection is gone. The driver's error about a closed one has no code. */
export function isConnectionLoss(caught: unknown): boolean {
  const { code, errno, fatal } = Object(caught) as { code?: string; errno?: number; fatal?: boolean };
  return LOSSES.has(code) || LOSSES.has(errno) || (fatal === true && code === undefined);
}

/** Returns whether a connection that rests was ended: by the server for its idle time, by its restart, or by what lies between. */
export function isLost(connection: Connection): boolean {
  const { connection: raw } = connection as unknown as {
    connection: { readonly stream: Duplex; readonly _fatalError?: unknown };
  };
  return raw.stream.destroyed || raw.stream.readableEnded || Boolean(raw._fatalError);
}

function isFull(errno: number, words: string): boolean {
  return FULL.has(errno) || (errno === ENGINE_FAILED && ENGINE_FULL.test(words));
}

/** Returns MariaDB's message when it refused the statement itself; null for errors that a retry may not meet again. */
export function refusalOf(caught: unknown): string | null {
  const { errno, sqlMessage } = caught as { errno?: number; sqlMessage?: string };
  if (errno === undefined || sqlMessage === undefined || PASSING.has(errno)) return null;
  return isFull(errno, sqlMessage) ? null : sqlMessage;
}

/** Number of the error of a statement that took longer than its limit. The same statement may do so again for ever. */
const STATEMENT_TIMED_OUT = 1969;
const LOCK_TIMED_OUT = 1205;
/** Most characters of a statement that a reason has. */
const BEGINNING = 160;

/** Returns the beginning of a statement in one line. */
function beginning(sql = 'a statement'): string {
  return sql.replaceAll(/\s+/g, ' ').trim().slice(0, BEGINNING);
}

/**
 * Returns the fault of a statement that MariaDB ended at its limit, as STATEMENT_TOO_SLOW; null for any other. A writer sends it again
 * and again: nothing but a higher limit, or the end of what holds it up, helps.
 */
export function slowStatement(caught: unknown): PlatformError | null {
  const { errno, sql } = Object(caught) as { errno?: number; sql?: string };
  if (errno !== STATEMENT_TIMED_OUT || caught instanceof PlatformError) return null;
  const reason = `MariaDB ended a statement that took longer than DB_QUERY_TIMEOUT; it begins with ${beginning(sql)}`;
  return new PlatformError('STATEMENT_TOO_SLOW', { reason, errno }, { cause: caught });
}

/** Returns what ends an error of this number, to follow MariaDB's words; an empty text where nothing special does. */
function remedyOf(errno = 0, words: string, sql: string | undefined): string {
  if (isFull(errno, words)) return ': make room for its files; it is tried again by itself';
  if (READ_ONLY.has(errno)) return ': let this account write there; it is tried again by itself';
  if (errno === STATEMENT_TIMED_OUT) return `: raise DB_QUERY_TIMEOUT; what took longer begins with ${beginning(sql)}`;
  if (errno === LOCK_TIMED_OUT) return ': another session changes or locks what it needs; it is tried again by itself';
  if (!AWAITED.has(errno)) return '';
  return ': start the service that makes it, or GRANT the right (docs/operating/grants.md); it is tried again by itself';
}

/** Returns a driver error as a PlatformError, and other PlatformErrors as they are. */
export function databaseError(caught: unknown, detail: Record<string, unknown> = {}): PlatformError {
  if (caught instanceof PlatformError) return caught;
  const { code, errno, sqlMessage, message, sql } = caught as {
    code?: string;
    sql?: string;
    errno?: number;
    sqlMessage?: string;
    message?: string;
  };
  const failure = sqlMessage || message || code || 'MariaDB did not answer';
  const reason = `${failure}${remedyOf(errno, failure, sql)}`;
  const kind = code !== undefined && REFUSALS.has(code) ? 'DATABASE_REFUSED' : 'DATABASE_UNAVAILABLE';
  return new PlatformError(kind, { reason, sql: code, errno, ...detail }, { cause: caught });
}

/** MariaDB's messages about a lacking table or column; each expression captures the name without that of the database. */
const LACKING: Readonly<Record<number, readonly [message: RegExp, what: string]>> = {
  1054: [/column '([^']+)'/i, 'column'],
  1146: [/Table '(?:[^'.]+\.)?([^']+)'/i, 'table']
};

/** Returns whether a statement named a table or column that the database lacks. */
export const isLacking = (caught: unknown): boolean => Number((Object(caught) as { errno?: number }).errno) in LACKING;

/** Returns the failure of a statement that only reads: TABLE_LACKING, STATEMENT_REFUSED, or what `databaseError` makes of it. */
export function readFault(caught: unknown, detail: Record<string, unknown> = {}): PlatformError {
  const error = databaseError(caught, detail);
  const refusal = error.code === 'DATABASE_UNAVAILABLE' && !(caught instanceof PlatformError) && refusalOf(caught);
  if (!refusal) return error;
  const { errno = 0 } = caught as { errno?: number };
  const [message, what] = LACKING[errno] ?? [];
  if (!message) return new PlatformError('STATEMENT_REFUSED', { reason: refusal, errno, ...detail }, { cause: caught });
  const reason = `the database has no ${what} ${message.exec(refusal)?.[1] ?? ''}`.trim();
  return new PlatformError('TABLE_LACKING', { reason, errno, ...detail }, { cause: caught });
}

/** Returns the rows of a text-protocol query. @throws whatever the driver throws; wrap with `databaseError` at the edge */
export async function rows<T extends SqlRow = SqlRow>(
  connection: Statements,
  sql: string,
  values: readonly unknown[] = []
): Promise<T[]> {
  const [result] = await connection.query<RowDataPacket[]>({ sql, values: values as unknown[] });
  return result as unknown as T[];
}

/** Quotes an identifier. Backticks inside are doubled, so any name is safe in SQL text. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/**
 * Returns the rows of a prepared statement, which MariaDB parses once for each connection. Whole numbers are sent as
 * BIGINT, so `LIMIT ?` is one, and keys are compared as what they are.
 *
 * @throws whatever the driver throws; wrap with `databaseError` at the edge
 */
export async function preparedRows<T extends SqlRow = SqlRow>(
  connection: Pick<Connection, 'execute'>,
  sql: string,
  values: readonly (string | number | Buffer | null)[] = []
): Promise<T[]> {
  const typed = values.map((value) => (typeof value === 'number' ? mysql.TypedParameter.BIGINT(value) : value));
  // The driver's promises make an Error for each call, for its stack: a tenth of what such a read costs here.
  const { connection: one, pool } = connection as unknown as Readonly<
    Partial<Record<'connection' | 'pool', Pick<mysql.Connection, 'execute'>>>
  >;
  return await new Promise((resolve, reject) => {
    (one ?? pool)!.execute<RowDataPacket[]>({ sql, values: typed }, (fault, result) =>
      fault ? reject(fault) : resolve(result as unknown as T[])
    );
  });
}
