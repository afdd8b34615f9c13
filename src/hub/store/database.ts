import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type InspectionEvent } from 'xstate';
import { type BreakerInput, circuitBreakerMachine } from '../../../machines/runtime/circuit-breaker.ts';
import {
  type Connection,
  databaseError,
  isConnectionLoss,
  isLacking,
  openPool,
  type Pool,
  readFault,
  rows
} from '../../db/connection.ts';
import { ERRORS, type ErrorCode, hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { SparseLines } from '../../sparse-lines.ts';
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
  /** False while MariaDB refuses to write: it is read-only, or its disk is full. Reads go on. */
  takesWrites(): boolean;
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
  /** Reads much in one snapshot, one after another on a connection of their own: what is late says nothing of the database. */
  readonly survey: RunStatement;
}

/** The database in the thread that has its connections. */
interface OpenHubDatabase extends HubDatabase {
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
/** Time limits of calls, each with the wait for a connection. Services give a hub five seconds for their reads and writes. */
export const CALL_LIMITS_MS = {
  read: 4_000,
  readOnce: 4_000,
  write: 4_000,
  push: 30_000,
  survey: 30_000
} as const;
const READERS = 6;
/** Connections for writers: one that waits for another writer takes no reader's place. */
const WRITERS = 4;
const PROBE_LIMIT_MS = 2_000;
/** MariaDB ends a statement by itself so long before its call is given up. */
const AHEAD_MS = 500;
/** Bytes from which an answer that is late counts as late by its own length. */
const LONG_BYTES = 2 ** 20;
/** Another writer is given so long. */
const WRITE_LOCK_WAIT_S = 3;
const RETRY_FIRST_MS = 500;
const RETRY_MOST_MS = 30_000;
const BREAKER: BreakerInput = { failureThreshold: 10, cooldownMs: 30_000, trialTimeoutMs: CALL_LIMITS_MS.push + 1_000 };

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

interface HubDatabaseOptions {
  readonly log: Logger;
  /** Limits after which the database is taken for down. */
  readonly breaker?: BreakerInput | undefined;
  readonly inspect?: (inspection: InspectionEvent) => void;
  /** Called after each change of the circuit, and of whether MariaDB takes writes. */
  readonly onChange?: () => void;
}

/** A pool, how many of its connections work has, and when MariaDB answered on one of them last. */
interface Connections {
  readonly pool: Pool;
  readonly size: number;
  used: number;
  answeredAt: number;
}

/** Statement that changes no row: a server that is read-only refuses it all the same. */
const WRITE_TRIAL = "UPDATE consensus_state SET value = value WHERE key_name = 'nothing'";

/** Opens no connection yet. */
export function openHubDatabase(
  database: DatabaseCoordinates,
  { log, breaker: input = BREAKER, inspect = () => undefined, onChange = () => undefined }: HubDatabaseOptions
): OpenHubDatabase {
  const opened = (size: number, limitMs: number): Connections => {
    const pool = openPool(database, size, { statementLimitS: (limitMs - AHEAD_MS) / 1_000 });
    return { pool, size, used: 0, answeredAt: Number.NEGATIVE_INFINITY };
  };
  const readers = opened(READERS, CALL_LIMITS_MS.read);
  const writers = opened(WRITERS, CALL_LIMITS_MS.push);
  const surveys = opened(1, CALL_LIMITS_MS.survey);
  /** Whether the database answers is asked on a connection of its own: it waits for no caller's statements. */
  const probes = opened(1, PROBE_LIMIT_MS);
  writers.pool.pool.on('connection', (raw) => {
    raw.query(`SET SESSION innodb_lock_wait_timeout = ${WRITE_LOCK_WAIT_S}`, () => undefined);
  });
  const breaker = createActor(circuitBreakerMachine, { input, inspect });
  breaker.subscribe(onChange);
  const complaints = new SparseLines();
  let isReady = false;
  /** MariaDB's number for why it does not write; null: it does. */
  let writeFault: number | null = null;
  const noteWrites = (fault: number | null) => {
    if ((fault === null) !== (writeFault === null)) {
      if (fault === null) log.info('MariaDB takes writes again');
      else log.error(`MariaDB takes no writes (${fault}): ${ERRORS.DATABASE_READ_ONLY.hint}`);
    }
    writeFault = fault;
    onChange();
  };

  /** Does work on a connection of a pool. Work that fails or is late takes its connection with it; without work it stays as it is. */
  const onConnection = async <T>(work: Work<T>, late: Promise<never>, from: Connections): Promise<T> => {
    const acquiring = from.pool.getConnection();
    let hasBegun = false;
    try {
      const connection = await Promise.race([acquiring, late]);
      hasBegun = true;
      from.used++;
      try {
        const value = await Promise.race([work(connection), late]);
        connection.release();
        return value;
      } finally {
        from.used--;
      }
    } catch (caught) {
      const fault = asRefusal(caught);
      // Its own failure is `caught`.
      acquiring
        .then((connection) => (hasBegun && !isRefusal(fault) ? connection.destroy() : connection.release()))
        .catch(() => undefined);
      throw fault;
    }
  };

  /**
   * Runs work behind the breaker. Connections that MariaDB ended while they rested are given up: one more than there are is new. Once a
   * statement was answered, work is not done again: what it did may stand.
   */
  const run = async <T>(limitMs: number, work: Work<T>, from: Connections): Promise<T> => {
    if (!isReady) throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database has not answered yet' });
    if (breaker.getSnapshot().hasTag('refuse')) {
      throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'circuit breaker open for the hub database' });
    }
    breaker.send({ type: 'call.started' });
    const { promise: late, reject } = Promise.withResolvers<never>();
    late.catch(() => undefined);
    const began = performance.now();
    let [hasConnection, isAnswered] = [false, false];
    let bytesSince = () => 0;
    const timer = setTimeout(() => {
      if (bytesSince() > LONG_BYTES)
        return reject(new PlatformError('QUESTION_TOO_HEAVY', { reason: 'its answer is too long' }));
      const isCrowd = !hasConnection && (from.used === from.size || from.answeredAt > began);
      const reason = isCrowd ? `no connection was free within ${limitMs} ms` : `no answer within ${limitMs} ms`;
      reject(new PlatformError(isCrowd ? 'ANSWERS_WAITING' : 'DATABASE_UNAVAILABLE', { reason }));
    }, limitMs);
    const begin: Work<T> = (connection) => {
      hasConnection = true;
      bytesSince = bytesFrom(connection);
      return work(
        noting(connection, () => {
          isAnswered = true;
          from.answeredAt = performance.now();
        })
      );
    };
    try {
      for (let left = from.size; ; left--) {
        try {
          const value = await onConnection(begin, late, from);
          breaker.send({ type: 'call.succeeded' });
          if (from === writers && writeFault !== null) noteWrites(null);
          return value;
        } catch (caught) {
          if (left === 0 || isAnswered || !isConnectionLoss(caught)) throw caught;
        }
      }
    } catch (fault) {
      const isUnasked = hasCode(fault, 'ANSWERS_WAITING');
      const isDown = from !== surveys && !isAnswer(fault);
      breaker.send({ type: isUnasked ? 'call.unasked' : isDown ? 'call.failed' : 'call.succeeded' });
      const errno = numberOf(fault);
      if (NO_WRITES.has(errno)) noteWrites(errno);
      throw named(fault, limitMs, database.name);
    } finally {
      clearTimeout(timer);
    }
  };
  /** Finds that MariaDB became read-only, or is no more, although nobody writes. */
  const tryToWrite = async () => {
    const trial = run(PROBE_LIMIT_MS, (connection) => connection.query(WRITE_TRIAL), probes);
    await trial.then(
      () => writeFault !== null && READ_ONLY.has(writeFault) && noteWrites(null),
      () => undefined // `run` has noted it
    );
  };
  const statement =
    (way: keyof typeof CALL_LIMITS_MS, from: Connections, begin: readonly string[] = []): RunStatement =>
    (name, ...given) =>
      run(
        CALL_LIMITS_MS[way],
        (connection) =>
          begin.length === 0
            ? runStatement(connection, name, given)
            : inTransaction(connection, begin, () => runStatement(connection, name, given)),
        from
      );
  const readOnce = statement('readOnce', readers);

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
      } catch (caught) {
        const more = complaints.take('the database does not answer');
        if (more !== null) log.warn({ err: caught, more }, 'the database does not answer');
        return false;
      }
      await tryToWrite();
      return true;
    },

    circuit() {
      const state = breaker.getSnapshot().value;
      return state === 'open' ? 'open' : state === 'closed' ? 'closed' : 'half-open';
    },

    takesWrites: () => writeFault === null,

    read: statement('read', readers, SNAPSHOT),
    readOnce,
    page: async (name, ...given) => pageOfRows(await readOnce(name, ...given)),
    write: statement('write', writers, WRITE),
    push: statement('push', writers, PUSH),
    survey: statement('survey', surveys, SNAPSHOT),

    async close() {
      breaker.stop();
      await Promise.all([readers, writers, surveys, probes].map(({ pool }) => pool.end()));
    }
  };
}

/** SQL states of values that a column or a key does not take: warning, data exception, constraint. */
const VALUE_STATES = /^(?:01|22|23)/;
/** ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: the same, in a general state. */
const WRONG_VALUE = 1366;

/** Returns REQUEST_INVALID for values that the database refuses, since they are the caller's; any other error unchanged. */
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

/** MariaDB's numbers for a server that is read-only, which says so to whatever would write. */
const READ_ONLY = new Set([1290, 1792, 1836]);
/** MariaDB's numbers for a failed write: read-only, a full disk, a full table. */
const NO_WRITES = new Set([...READ_ONLY, 3, 1021, 1114]);
/** Another writer has what this one waits for. */
const LOCKED = new Set([1205, 1213]);
const STATEMENT_TIMEOUT = 1969;

const numberOf = (caught: unknown): number => (Object(caught) as { errno?: number }).errno ?? 0;

/** Returns whether work refused what its caller asked for; the database is well then. */
const isRefusal = (caught: unknown): boolean => caught instanceof PlatformError && caught.status < 500;

/** Returns whether MariaDB answered, though not as wanted: then it is not down. */
function isAnswer(caught: unknown): boolean {
  const errno = numberOf(caught);
  if (NO_WRITES.has(errno) || LOCKED.has(errno) || errno === STATEMENT_TIMEOUT) return true;
  return isRefusal(caught) || isLacking(caught) || hasCode(caught, 'QUESTION_TOO_HEAVY');
}

/** Returns the error that a caller gets for a failure. */
function named(caught: unknown, limitMs: number, database: string): PlatformError {
  const errno = numberOf(caught);
  const as = (code: ErrorCode, reason: string) => new PlatformError(code, { reason, database }, { cause: caught });
  if (errno === STATEMENT_TIMEOUT) return as('QUESTION_TOO_HEAVY', `it took longer than ${limitMs} ms`);
  if (NO_WRITES.has(errno)) return as('DATABASE_READ_ONLY', `MariaDB refuses to write (${errno})`);
  if (LOCKED.has(errno)) return as('ANSWERS_WAITING', `another writer held the database for ${WRITE_LOCK_WAIT_S} s`);
  return isLacking(caught) ? readFault(caught, { database }) : databaseError(caught, { database });
}

/** Counts the bytes that come on a connection from now on. */
function bytesFrom(connection: Connection): () => number {
  const { stream } = Object((connection as { connection?: unknown }).connection) as { stream?: { bytesRead?: number } };
  const before = stream?.bytesRead ?? 0;
  return () => (stream?.bytesRead ?? 0) - before;
}

/** Returns the connection for one use, which tells when a statement was answered. */
function noting(connection: Connection, answered: () => void): Connection {
  const query = async (...given: Parameters<Connection['query']>) => {
    const found = await connection.query(...given);
    answered();
    return found;
  };
  return { query } as unknown as Connection;
}

/** Runs work in a transaction. The caller ends a connection whose work failed otherwise, and MariaDB rolls back. */
async function inTransaction<T>(connection: Connection, begin: readonly string[], work: () => Promise<T>): Promise<T> {
  for (const statement of begin) await connection.query(statement);
  try {
    const value = await work();
    await connection.query('COMMIT');
    return value;
  } catch (caught) {
    if (isRefusal(asRefusal(caught))) await connection.query('ROLLBACK');
    throw caught;
  }
}
