import { setTimeout as sleep } from 'node:timers/promises';
import { createActor } from 'xstate';
import { type BreakerInput, circuitBreakerMachine } from '../../../machines/runtime/circuit-breaker.ts';
import { type Connection, databaseError, openPool, rows } from '../../db/core/connection.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseCoordinates } from '../../wire/database.ts';
import type { Circuit } from '../../wire/report.ts';
import { createMissing } from './tables.ts';

/** Statements on one connection of the hub's database. */
export type Work<T> = (connection: Connection) => Promise<T>;

/**
 * The hub's database. Until `prepare` is done, every call is refused. Work that throws leaves nothing written.
 *
 * Calls throw DATABASE_UNAVAILABLE, DATABASE_REFUSED, and what their work throws.
 */
export interface HubDatabase {
  /**
   * Makes the database and its tables where they are missing; waits for a MariaDB that is not there yet.
   *
   * @param signal ends the waiting
   * @throws {PlatformError} DATABASE_REFUSED: waiting does not help
   */
  prepare(signal: AbortSignal): Promise<void>;
  /** Whether `prepare` is done. */
  isReady(): boolean;
  /** False when the database does not answer within 2 seconds, or the circuit is open. */
  probe(): Promise<boolean>;
  circuit(): Circuit;
  /** Reads in one consistent snapshot. */
  read<T>(work: Work<T>): Promise<T>;
  /** Runs one statement that reads; it needs no transaction to see one state. */
  readOnce<T>(work: Work<T>): Promise<T>;
  /** One transaction and one `seq`, durable when it returns. Writers take turns. */
  write<T>(work: Work<T>): Promise<T>;
  /** The same without a `seq`: for what indexers push with each block. */
  push<T>(work: Work<T>): Promise<T>;
  close(): Promise<void>;
}

const POOL_SIZE = 10;
const CALL_LIMIT_MS = 30_000;
const PROBE_LIMIT_MS = 2_000;
const WRITE_LOCK_WAIT_S = 10;
const RETRY_FIRST_MS = 500;
const RETRY_MOST_MS = 30_000;
const BREAKER: BreakerInput = { failureThreshold: 10, cooldownMs: 30_000, trialTimeoutMs: CALL_LIMIT_MS + 1_000 };

const SNAPSHOT = ['START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY'];
/** The second statement locks the row until the commit: writers take turns, in this process and in others. */
const WRITE = [
  'START TRANSACTION',
  "INSERT INTO consensus_state (key_name, value) VALUES ('last_seq', '1') ON DUPLICATE KEY UPDATE value = value + 1"
];
const PUSH = [
  'START TRANSACTION',
  "INSERT INTO consensus_state (key_name, value) VALUES ('last_seq', '0') ON DUPLICATE KEY UPDATE value = value"
];

/** Opens no connection yet. @param breakerInput when the database is taken for down */
export function openHubDatabase(database: DatabaseCoordinates, log: Logger, breakerInput = BREAKER): HubDatabase {
  const pool = openPool(database, POOL_SIZE);
  pool.pool.on('connection', (raw) => {
    raw.query(`SET SESSION innodb_lock_wait_timeout = ${WRITE_LOCK_WAIT_S}`, () => undefined);
    raw.query(`SET SESSION max_statement_time = ${CALL_LIMIT_MS / 1000}`, () => undefined); // MySQL has none: `run` has a limit too
  });
  const breaker = createActor(circuitBreakerMachine, { input: breakerInput });
  let isReady = false;

  /** Runs work on a pooled connection behind the breaker. Work that fails or is late takes its connection with it. */
  const run = async <T>(limitMs: number, work: Work<T>): Promise<T> => {
    if (!isReady) throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database has not answered yet' });
    if (breaker.getSnapshot().hasTag('refuse')) {
      throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'circuit breaker open for the hub database' });
    }
    breaker.send({ type: 'call.started' });
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    const late = () => reject(new PlatformError('DATABASE_UNAVAILABLE', { reason: `no answer within ${limitMs} ms` }));
    const timer = setTimeout(late, limitMs);
    const acquiring = pool.getConnection();
    try {
      const connection = await Promise.race([acquiring, deadline]);
      const value = await Promise.race([work(connection), deadline]);
      connection.release();
      breaker.send({ type: 'call.succeeded' });
      return value;
    } catch (caught) {
      breaker.send({ type: isRefusal(caught) ? 'call.succeeded' : 'call.failed' });
      // Its own failure is `caught`.
      acquiring
        .then((connection) => (isRefusal(caught) ? connection.release() : connection.destroy()))
        .catch(() => undefined);
      throw databaseError(caught, { database: database.name });
    } finally {
      clearTimeout(timer);
    }
  };
  const transact =
    (begin: readonly string[]) =>
    <T>(work: Work<T>) =>
      run(CALL_LIMIT_MS, (connection) => inTransaction(connection, begin, work));

  return {
    async prepare(signal) {
      for (let waitMs = RETRY_FIRST_MS; !isReady; waitMs = Math.min(waitMs * 2, RETRY_MOST_MS)) {
        try {
          await createMissing(database);
          breaker.start();
          isReady = true;
        } catch (caught) {
          if (signal.aborted || !hasCode(caught, 'DATABASE_UNAVAILABLE')) throw caught;
          log.warn({ err: caught, retryInMs: waitMs }, `waiting for MariaDB: ${caught.message}`);
          await sleep(waitMs, undefined, { signal });
        }
      }
    },

    isReady: () => isReady,

    async probe() {
      try {
        await run(PROBE_LIMIT_MS, (connection) => rows(connection, 'SELECT 1'));
        return true;
      } catch (caught) {
        log.warn({ err: caught }, 'the database does not answer');
        return false;
      }
    },

    circuit() {
      const state = breaker.getSnapshot().value;
      return state === 'open' ? 'open' : state === 'closed' ? 'closed' : 'half-open';
    },

    read: transact(SNAPSHOT),
    readOnce: (work) => run(CALL_LIMIT_MS, work),
    write: transact(WRITE),
    push: transact(PUSH),

    async close() {
      breaker.stop();
      await pool.end();
    }
  };
}

/** Whether work refused what its caller asked for; the database is well then. */
const isRefusal = (caught: unknown): boolean => caught instanceof PlatformError && caught.status < 500;

/** A connection whose work failed otherwise is ended by the caller, and MariaDB rolls back. */
async function inTransaction<T>(connection: Connection, begin: readonly string[], work: Work<T>): Promise<T> {
  for (const statement of begin) await connection.query(statement);
  try {
    const value = await work(connection);
    await connection.query('COMMIT');
    return value;
  } catch (caught) {
    if (isRefusal(caught)) await connection.query('ROLLBACK');
    throw caught;
  }
}
