import type { PoolConnection } from 'mysql2/promise';
import { databaseError, openPool, type Pool, rows, type SqlRow } from '../../db/core/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/database.ts';

/** Runs one statement. */
export type Query = <T extends SqlRow>(sql: string, values?: readonly unknown[]) => Promise<T[]>;

/** What a reader asks before a call, and tells after it. */
export interface Breaker {
  readonly refuses: boolean;
  tell(type: 'call.started' | 'call.succeeded' | 'call.failed'): void;
}

interface ReaderOptions {
  readonly database: DatabaseCoordinates;
  readonly connections: number;
  /** How long one read may take, the wait for a connection included. */
  readonly limitMs: number;
  readonly breaker: Breaker;
}

/** MariaDB ended a statement that took too long: it does answer. */
const STATEMENT_TIMEOUT = 1969;

/** Reads a database that it may not write to, each read in one consistent snapshot. */
export class Reader {
  readonly #options: ReaderOptions;
  readonly #pool: Pool;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#pool = openPool(options.database, options.connections, { statementLimitS: options.limitMs / 1000 });
  }

  /** @throws {PlatformError} DATABASE_UNAVAILABLE, DATABASE_REFUSED, or what `work` throws */
  async read<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const { breaker, database } = this.#options;
    if (breaker.refuses)
      throw new PlatformError('DATABASE_UNAVAILABLE', {
        reason: 'the circuit breaker is open',
        database: database.name
      });
    breaker.tell('call.started');
    try {
      const result = await this.#inSnapshot(work);
      breaker.tell('call.succeeded');
      return result;
    } catch (caught) {
      const answers = caught instanceof PlatformError || (caught as { errno?: number }).errno === STATEMENT_TIMEOUT;
      breaker.tell(answers ? 'call.succeeded' : 'call.failed');
      throw databaseError(caught, { database: database.name });
    }
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(() => undefined);
  }

  /** A connection that is late, or on which something failed, is in an unknown state and is given up. */
  async #inSnapshot<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const { limitMs } = this.#options;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
    const opening = this.#pool.getConnection();
    let connection: PoolConnection | undefined;
    try {
      connection = await Promise.race([opening, late.promise]);
      const result = await Promise.race([run(connection, work), late.promise]);
      connection.release();
      return result;
    } catch (caught) {
      if (connection) connection.destroy();
      else void opening.then((opened) => opened.release()).catch(() => undefined);
      throw caught;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function run<T>(connection: PoolConnection, work: (query: Query) => Promise<T>): Promise<T> {
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
  const outcome = await work((sql, values) => rows(connection, sql, values)).then(
    (value) => ({ value }),
    (error: unknown) => ({ error })
  );
  await connection.query('COMMIT');
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}
