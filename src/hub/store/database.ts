import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type InspectionEvent } from 'xstate';
import { type BreakerInput, circuitBreakerMachine } from '../../../machines/runtime/circuit-breaker.ts';
import { type Connection, databaseError, isConnectionLoss, openPool, rows } from '../../db/core/connection.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { Circuit } from '../../wire/state/report.ts';
import { pageOfRows, type ReadPage } from './row-page.ts';
import { type RunStatement, runStatement } from './statements.ts';
import { createMissing } from './tables.ts';

type Work<T> = (connection: Connection) => Promise<T>;

/**
 * The hub's database, asked by the names of statements. Until it is ready every call is refused. What throws leaves nothing written.
 *
 * Calls throw DATABASE_UNAVAILABLE, DATABASE_REFUSED, and what their statement throws.
 */
export interface HubDatabase {
  /** Whether its tables are there. */
  isReady(): boolean;
  /** False when the database does not answer within 2 seconds, or the circuit is open. */
  probe(): Promise<boolean>;
  circuit(): Circuit;
  /** Reads in one consistent snapshot. */
  readonly read: RunStatement;
  /** Runs one statement that reads; it needs no transaction to see one state. */
  readonly readOnce: RunStatement;
  /** The same, for rows that are sent on as they are. */
  readonly page: ReadPage;
  /** One transaction and one `seq`, durable when it returns. Writers take turns. */
  readonly write: RunStatement;
  /** The same without a `seq`: for what indexers push with each block. */
  readonly push: RunStatement;
}

/** The database in the thread that has its connections. */
export interface OpenHubDatabase extends HubDatabase {
  /**
   * Makes the database and its tables where they are missing; waits for a MariaDB that is not there yet.
   *
   * @param signal ends the waiting
   * @throws {PlatformError} DATABASE_REFUSED: waiting does not help
   */
  prepare(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Callers' statements under way: fewer than there are connections, so that none waits for one behind another caller's. */
export const STATEMENTS_AT_ONCE = 4;
const POOL_SIZE = 10;
/** Of one statement, the wait for a connection included. */
export const CALL_LIMIT_MS = 30_000;
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

export interface HubDatabaseOptions {
  readonly log: Logger;
  /** When the database is taken for down. */
  readonly breaker?: BreakerInput | undefined;
  readonly inspect?: (inspection: InspectionEvent) => void;
  /** Called after each change of the circuit. */
  readonly onCircuit?: () => void;
}

/** Opens no connection yet. */
export function openHubDatabase(
  database: DatabaseCoordinates,
  { log, breaker: input = BREAKER, inspect = () => undefined, onCircuit = () => undefined }: HubDatabaseOptions
): OpenHubDatabase {
  const pool = openPool(database, POOL_SIZE);
  /** Whether the database answers is asked on a connection of its own: it waits for no caller's statements. */
  const probes = openPool(database, 1);
  pool.pool.on('connection', (raw) => {
    raw.query(`SET SESSION innodb_lock_wait_timeout = ${WRITE_LOCK_WAIT_S}`, () => undefined);
    raw.query(`SET SESSION max_statement_time = ${CALL_LIMIT_MS / 1000}`, () => undefined); // MySQL has none: `run` has a limit too
  });
  const breaker = createActor(circuitBreakerMachine, { input, inspect });
  breaker.subscribe(onCircuit);
  let isReady = false;

  /** Does work on a connection of a pool. Work that fails or is late takes its connection with it. */
  const onConnection = async <T>(work: Work<T>, deadline: Promise<never>, from: typeof pool): Promise<T> => {
    const acquiring = from.getConnection();
    try {
      const connection = await Promise.race([acquiring, deadline]);
      const value = await Promise.race([work(connection), deadline]);
      connection.release();
      return value;
    } catch (caught) {
      const fault = asRefusal(caught);
      // Its own failure is `caught`.
      acquiring
        .then((connection) => (isRefusal(fault) ? connection.release() : connection.destroy()))
        .catch(() => undefined);
      throw fault;
    }
  };

  /** Runs work behind the breaker. Connections that MariaDB ended while they rested are given up: one more than there are is new. */
  const run = async <T>(limitMs: number, work: Work<T>, from = pool): Promise<T> => {
    if (!isReady) throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database has not answered yet' });
    if (breaker.getSnapshot().hasTag('refuse')) {
      throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'circuit breaker open for the hub database' });
    }
    breaker.send({ type: 'call.started' });
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    const late = () => reject(new PlatformError('DATABASE_UNAVAILABLE', { reason: `no answer within ${limitMs} ms` }));
    const timer = setTimeout(late, limitMs);
    try {
      for (let left = POOL_SIZE; ; left--) {
        try {
          const value = await onConnection(work, deadline, from);
          breaker.send({ type: 'call.succeeded' });
          return value;
        } catch (caught) {
          if (left === 0 || !isConnectionLoss(caught)) throw caught;
        }
      }
    } catch (fault) {
      breaker.send({ type: isRefusal(fault) || isReadOnly(fault) ? 'call.succeeded' : 'call.failed' });
      throw databaseError(fault, { database: database.name });
    } finally {
      clearTimeout(timer);
    }
  };
  const statement =
    (begin: readonly string[]): RunStatement =>
    (name, ...given) =>
      run(CALL_LIMIT_MS, (connection) =>
        begin.length === 0
          ? runStatement(connection, name, given)
          : inTransaction(connection, begin, () => runStatement(connection, name, given))
      );

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
        await run(PROBE_LIMIT_MS, (connection) => rows(connection, 'SELECT 1'), probes);
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

    read: statement(SNAPSHOT),
    readOnce: statement([]),
    page: async (name, ...given) => pageOfRows(await statement([])(name, ...given)),
    write: statement(WRITE),
    push: statement(PUSH),

    async close() {
      breaker.stop();
      await Promise.all([pool.end(), probes.end()]);
    }
  };
}

/** SQL states of values that a column or a key does not take: warning, data exception, constraint. */
const VALUE_STATES = /^(?:01|22|23)/;
/** ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: the same, in a general state. */
const WRONG_VALUE = 1366;

/** What the database refuses of the values that it is given is its caller's fault; anything else is what it was. */
function asRefusal(caught: unknown): unknown {
  const {
    sqlState = '',
    errno,
    sqlMessage
  } = Object(caught) as Partial<Readonly<{ sqlState: string; errno: number; sqlMessage: string }>>;
  if (!VALUE_STATES.test(sqlState) && errno !== WRONG_VALUE) return caught;
  return new PlatformError(
    'REQUEST_INVALID',
    { reason: `the database takes no such row: ${sqlMessage}` },
    { cause: caught }
  );
}

/** MariaDB's words for a full disk, a full table, and a server that is read-only: it answers, and reads go on. */
const NO_WRITES = new Set<unknown>([3, 1021, 1114, 1290, 1792, 1836]);
const isReadOnly = (caught: unknown): boolean => NO_WRITES.has((Object(caught) as { errno?: number }).errno);

/** Whether work refused what its caller asked for; the database is well then. */
const isRefusal = (caught: unknown): boolean => caught instanceof PlatformError && caught.status < 500;

/** A connection whose work failed otherwise is ended by the caller, and MariaDB rolls back. */
async function inTransaction<T>(connection: Connection, begin: readonly string[], work: () => Promise<T>): Promise<T> {
  for (const statement of begin) await connection.query(statement);
  try {
    const value = await work();
    await connection.query('COMMIT').catch((lost: unknown) => {
      throw databaseError(lost); // it may have been carried out: nobody may do it again
    });
    return value;
  } catch (caught) {
    if (isRefusal(asRefusal(caught))) await connection.query('ROLLBACK');
    throw caught;
  }
}
