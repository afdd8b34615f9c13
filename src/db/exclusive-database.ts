import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolConnection, ResultSetHeader } from 'mysql2/promise';
import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import {
  type Connection,
  connect,
  databaseError,
  isLost,
  openPool,
  quoteName,
  refusalOf,
  rows,
  type SqlRow,
  type Statements,
  slowStatement
} from './connection.ts';
import { Halts } from './halts.ts';
import { type Writer, waitingLock, writerLock } from './writer-lock.ts';

/** Owner and definitions of a database. */
interface ExclusiveDatabaseOptions {
  /** Service that writes it. The error about a held lock names it. */
  readonly service: 'decoder' | 'tracker';
  /** Longest time of one statement. */
  readonly queryTimeoutMs?: number;
  /** Brings the definitions up to date, under the writer's lock. */
  readonly prepare: (writer: Connection) => Promise<void>;
}

const POOL_SIZE = 9;
const LOCK_WAIT_S = 2;
const PROBE_LIMIT_S = 2;
const CLOSE_LIMIT_MS = 2_000;
/** Longest time without use of an idle connection, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;
const DEFAULT_QUERY_TIMEOUT_MS = 30_000;

/**
 * Database into which one process writes the blocks of a chain. Every method may throw DATABASE_UNAVAILABLE; then close
 * the database.
 *
 * Decoder and tracker use it whole. Others take the parts below, since their purpose differs: an indexer reads and checks
 * on further connections beside its writer; a replica holds the lock that every client of its source knows, waits for it,
 * names its holder, and keeps its halt in `sync_halt`, which other clients read; writers of a hub take turns, and hold no
 * lock between two writes.
 *
 * @see WriterSeat
 * @see useDatabase
 * @see inTransaction
 */
export class ExclusiveDatabase {
  /** Pool for reads beside the writer. */
  readonly pool: Pool;
  /** A connection that waits for no reader. */
  readonly #probes: Pool;
  readonly #writer: PoolConnection;
  readonly #queryTimeoutMs: number;
  #usedAt = performance.now();
  readonly #seat: WriterSeat;
  /** Durable halts, and other events. */
  readonly halts: Halts;

  private constructor(
    { pool, probes }: { readonly pool: Pool; readonly probes: Pool },
    writer: PoolConnection,
    seat: WriterSeat,
    { service, queryTimeoutMs = DEFAULT_QUERY_TIMEOUT_MS }: ExclusiveDatabaseOptions
  ) {
    this.pool = pool;
    this.#probes = probes;
    this.#writer = writer;
    this.#seat = seat;
    this.#queryTimeoutMs = queryTimeoutMs;
    const time = service === 'decoder' ? 'UTC_TIMESTAMP()' : 'UNIX_TIMESTAMP()';
    this.halts = new Halts({ time, query: (sql, values) => this.query(sql, values) });
  }

  /**
   * Opens a database for writing. Creates it when it is missing, and brings its definitions up to date.
   *
   * There is one writer at a time: the advisory lock is held until `close`, or until the connection is lost.
   *
   * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE, and the errors of `prepare`
   */
  static async open(database: DatabaseCoordinates, options: ExclusiveDatabaseOptions): Promise<ExclusiveDatabase> {
    const { service, prepare, queryTimeoutMs = DEFAULT_QUERY_TIMEOUT_MS } = options;
    let pool: Pool | undefined;
    try {
      await createDatabase(database);
      pool = openPool(database, POOL_SIZE, { statementLimitS: queryTimeoutMs / 1000 });
      const writer = await pool.getConnection();
      writer.on('error', () => undefined); // it fails the waiting statement, or the next one
      const seat = await WriterSeat.take(writer, service, database);
      await prepare(writer);
      const probes = openPool(database, 1, { statementLimitS: PROBE_LIMIT_S });
      return new ExclusiveDatabase({ pool, probes }, writer, seat, options);
    } catch (caught) {
      await endPool(pool);
      throw databaseError(caught, { database: database.name });
    }
  }

  /** Milliseconds after which a statement never ends: the server's own limit comes first. */
  get patienceMs(): number {
    return this.#queryTimeoutMs + 1_000;
  }

  /** Runs one statement of the writer. */
  async query<T extends SqlRow = SqlRow>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    this.#usedAt = performance.now();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.#writer.destroy();
      const reason = `MariaDB did not answer within ${this.#queryTimeoutMs} ms`;
      reject(new PlatformError('DATABASE_UNAVAILABLE', { reason }));
    }, this.patienceMs);
    try {
      return await Promise.race([rows<T>(this.#writer, sql, values), late]);
    } catch (caught) {
      throw statementError(caught, sql);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Keeps the writer's connection alive while there is no block to write, so that a lost one is opened again before the
   * next block.
   */
  async keepAlive(): Promise<void> {
    if (!isLost(this.#writer) && performance.now() - this.#usedAt < KEEP_ALIVE_MS) return;
    await this.query('DO 1');
  }

  /** Tells readers of the database whether the writer goes on. @see lookAtWriter */
  async tellWaiting(isWaiting: boolean): Promise<void> {
    await this.#seat.tellWaiting(isWaiting);
  }

  /** Runs a statement of the writer that changes rows. @returns the number of rows */
  async change(sql: string): Promise<number> {
    const result: unknown = await this.query(sql);
    return (result as ResultSetHeader).affectedRows;
  }

  /** Runs a statement of the writer that may take hours, such as one that makes an index. */
  async queryWithoutLimit(sql: string): Promise<void> {
    try {
      await this.#writer.query(`SET STATEMENT max_statement_time = 0 FOR ${sql}`);
    } catch (caught) {
      throw databaseError(caught);
    }
  }

  /**
   * Runs work in a transaction. All its writes are durable when this returns. If it throws, none is, and the connection
   * is closed.
   */
  async transaction(work: () => Promise<void>): Promise<void> {
    await inTransaction(this.#writer, (sql) => this.query(sql), work);
  }

  /** Returns whether the database answers in time, on a connection of its own. */
  async probe(limitMs: number): Promise<boolean> {
    const late = sleep(limitMs, null, { ref: false });
    const acquiring = this.#probes.getConnection();
    const asked = acquiring.then((connection) => rows(connection, 'SELECT 1'));
    const answer = await Promise.race([asked, late]).catch(() => null);
    // One that is late, or failed, may never answer again.
    acquiring.then((connection) => (answer ? connection.release() : connection.destroy())).catch(() => undefined);
    return answer !== null;
  }

  /** Closes all connections, and with them releases the lock. */
  async close(): Promise<void> {
    this.#writer.destroy();
    await Promise.all([endPool(this.pool), endPool(this.#probes)]);
  }
}

/** The place of a database's one writer: an advisory lock, held until its connection ends. */
export class WriterSeat {
  readonly #connection: Connection;
  readonly #waitingLock: string;
  #isWaiting = false;

  private constructor(connection: Connection, lock: string) {
    this.#connection = connection;
    this.#waitingLock = lock;
  }

  /** Takes the place. @throws {PlatformError} DATABASE_UNAVAILABLE: another process has it */
  static async take(connection: Connection, writer: Writer, database: DatabaseCoordinates): Promise<WriterSeat> {
    const values = [writerLock(writer, database), LOCK_WAIT_S];
    const [lock] = await rows(connection, 'SELECT GET_LOCK(?, ?) AS taken', values);
    if (lock?.['taken'] === 1) return new WriterSeat(connection, waitingLock(writer, database));
    const reason = `another ${writer} holds the writer lock of this database`;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason });
  }

  /** Tells those who read the database whether its writer goes on. @see lookAtWriter */
  async tellWaiting(isWaiting: boolean): Promise<void> {
    if (isWaiting === this.#isWaiting) return;
    this.#isWaiting = isWaiting;
    // Without a limit of time: it waits for the statement under way, which may have none.
    await rows(this.#connection, `SELECT ${isWaiting ? 'GET_LOCK(?, 0)' : 'RELEASE_LOCK(?)'}`, [this.#waitingLock]);
  }
}

/** Uses a database on a connection to its server. Creates it if it is missing; else no right to create is needed. */
export async function useDatabase(
  connection: Statements,
  name: string,
  charset = 'CHARACTER SET utf8mb4'
): Promise<void> {
  const found = await rows(connection, 'SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?', [name]);
  if (found.length === 0) await connection.query(`CREATE DATABASE IF NOT EXISTS ${quoteName(name)} ${charset}`);
  await connection.query(`USE ${quoteName(name)}`);
}

/** Creates a database if it is missing. @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE */
async function createDatabase({ name, ...server }: DatabaseCoordinates): Promise<void> {
  const connection = await connect(server);
  try {
    await useDatabase(connection, name);
  } finally {
    await connection.end();
  }
}

/**
 * Runs work in a transaction. All its writes are durable when this returns. If it throws, none is, and the connection is
 * closed.
 *
 * @param run runs one statement on the connection
 * @param explain returns the error to throw, on the same connection, after the transaction
 */
export async function inTransaction<T>(
  connection: Pick<Connection, 'destroy'>,
  run: (sql: string) => Promise<unknown>,
  work: () => Promise<T>,
  explain: (caught: unknown) => Promise<unknown> = async (caught) => caught
): Promise<T> {
  await run('START TRANSACTION');
  try {
    const result = await work();
    await run('COMMIT');
    return result;
  } catch (caught) {
    const cause = await explain(caught);
    connection.destroy(); // the server rolls back, whatever state the connection is in
    throw cause;
  }
}

/** Statements that write, each with the table whose rows or definition it changes. */
const WRITES = /^\s*(?:INSERT(?: IGNORE)? INTO|UPDATE|DELETE(?: \w+)? FROM|REPLACE INTO)\s+`?(\w+)/i;

/**
 * Returns the error of a statement of the writer: ROWS_REFUSED if MariaDB answered and refused a write,
 * STATEMENT_TOO_SLOW if it ended the statement at its limit.
 */
function statementError(caught: unknown, sql: string): PlatformError {
  const slow = slowStatement(caught);
  if (slow) return slow;
  const error = databaseError(caught);
  const refusal = error.code === 'DATABASE_UNAVAILABLE' && !(caught instanceof PlatformError) && refusalOf(caught);
  const [, table] = WRITES.exec(sql) ?? [];
  if (!refusal || table === undefined) return error;
  return new PlatformError('ROWS_REFUSED', { reason: `MariaDB refuses rows of the table ${table}: ${refusal}` });
}

async function endPool(pool: Pool | undefined): Promise<void> {
  const ended = pool?.end().catch(() => undefined);
  await Promise.race([ended, sleep(CLOSE_LIMIT_MS, undefined, { ref: false })]);
}
