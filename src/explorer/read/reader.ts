import type { PoolConnection } from 'mysql2/promise';
import {
  isConnectionLoss,
  openPool,
  type Pool,
  preparedRows,
  readFault,
  refusalOf,
  type SqlRow
} from '../../db/connection.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import { OptionalTables } from './optional-tables.ts';
import { ReadElsewhere } from './read-elsewhere.ts';
import { Snapshots } from './snapshots.ts';

/** Runs one statement, which a connection prepares once. */
export type Query = <T extends SqlRow>(sql: string, values?: readonly (string | number | null)[]) => Promise<T[]>;

/** Work in one snapshot; `opened` are the rows of the reader's opening statement. */
type Work<T> = (query: Query, opened: readonly SqlRow[]) => Promise<T>;

/** Circuit breaker that a reader asks before a call, and tells the outcome. */
interface Breaker {
  readonly refuses: boolean;
  tell(type: 'call.started' | 'call.succeeded' | 'call.failed' | 'call.unasked'): void;
}

interface ReaderOptions {
  readonly database: DatabaseCoordinates;
  readonly connections: number;
  /** Longest time of one statement, and of a wait for a free connection, in milliseconds. */
  readonly limitMs: number;
  readonly breaker: Breaker;
  /** The first statement of each snapshot. */
  readonly opening: string;
  /** Time for which a snapshot serves reads, in milliseconds; 0: each read has its own. */
  readonly snapshotMs?: number;
}

/** Reads of a ledger at once, each on a connection of its own. */
export const READS_AT_ONCE = 6;

/** MariaDB ended a statement that took too long: it does answer. */
const STATEMENT_TIMEOUT = 1969;
/**
 * A table was altered after a snapshot was opened or a statement prepared: by an upgrade, or a replica that loads anew. Or the read
 * was in a deadlock with a session that locks several tables: MariaDB ends the read.
 */
const TABLE_ALTERED: readonly unknown[] = [1213, 1412, 1615];

/** Returns whether a connection or its snapshot was no good any more, which a read on another one does not meet. */
const isStale = (caught: unknown): boolean =>
  isConnectionLoss(caught) || TABLE_ALTERED.includes((caught as { errno?: number }).errno);

/** Returns whether the work gave up by itself, so that its connection is as good as before. */
const isOfWork = (caught: unknown): caught is PlatformError | ReadElsewhere =>
  caught instanceof PlatformError || caught instanceof ReadElsewhere;

/** MariaDB ends a statement by itself before its read is given up: that a question is heavy tells nothing of the database. */
const READ_PATIENCE_MS = 1_000;

/** Reads a database that it may not write to, each read in one consistent snapshot, which others may have used before. */
export class Reader {
  readonly #options: ReaderOptions;
  readonly #pool: Pool;
  readonly #snapshots: Snapshots;
  readonly #tables = new OptionalTables();
  /** Connections that a read has. */
  #used = 0;
  /** Reason why the last read failed. */
  #failure: PlatformError | null = null;

  constructor(options: ReaderOptions) {
    this.#options = options;
    const settings = { statementLimitS: options.limitMs / 1000, several: true, binary: true, fewRows: true };
    this.#snapshots = new Snapshots(options.opening, this.#tables, options.snapshotMs ?? 0);
    this.#pool = openPool(options.database, options.connections, settings);
  }

  /** @throws {PlatformError} DATABASE_*, TABLE_LACKING, STATEMENT_REFUSED, QUESTION_TOO_HEAVY, or what `work` throws */
  async read<T>(work: Work<T>): Promise<T> {
    const { breaker, database, limitMs } = this.#options;
    if (breaker.refuses)
      throw (
        this.#failure ??
        new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the circuit breaker is open', database: database.name })
      );
    breaker.tell('call.started');
    try {
      const result = await this.#onAnyConnection(work);
      breaker.tell('call.succeeded');
      return result;
    } catch (caught) {
      const isHeavy = (caught as { errno?: number }).errno === STATEMENT_TIMEOUT;
      const isAnswer = isHeavy || caught instanceof PlatformError || refusalOf(caught) !== null;
      const isUnasked = hasCode(caught, 'ANSWERS_WAITING');
      breaker.tell(isUnasked ? 'call.unasked' : isAnswer ? 'call.succeeded' : 'call.failed');
      if (!isHeavy) {
        const fault = readFault(caught, { database: database.name });
        if (!isAnswer) this.#failure = fault;
        throw fault;
      }
      throw new PlatformError('QUESTION_TOO_HEAVY', { reason: `it took longer than ${limitMs} ms` }, { cause: caught });
    }
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(() => undefined);
  }

  /** Runs work on any connection. Each that is found stale is given up: one more than there are is new. */
  async #onAnyConnection<T>(work: Work<T>): Promise<T> {
    const until = performance.now() + this.#options.limitMs;
    for (let left = this.#options.connections; ; ) {
      try {
        return await this.#inSnapshot(work);
      } catch (caught) {
        if (caught instanceof ReadElsewhere) await caught.ended(until - performance.now());
        else if (left-- === 0 || !isStale(caught)) throw caught;
      }
    }
  }

  /** Runs work in a snapshot. A connection that is late, or on which something failed, is in an unknown state and is given up. */
  async #inSnapshot<T>(work: Work<T>): Promise<T> {
    const connection = await this.#connect();
    this.#used++;
    const late = Promise.withResolvers<never>();
    const limitMs = this.#options.limitMs + READ_PATIENCE_MS;
    let answers = 0;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      const reason = `no answer within ${limitMs} ms`;
      late.reject(answers > 0 ? new PlatformError('QUESTION_TOO_HEAVY', { reason }) : new Error(reason));
    }, limitMs);
    try {
      const running = this.#run(connection, work, () => void answers++);
      const outcome = await Promise.race([running, late.promise]);
      this.#snapshots.release(connection);
      if ('refusal' in outcome) throw outcome.refusal;
      return outcome.value;
    } catch (caught) {
      if (isLate || !isOfWork(caught)) connection.destroy(); // else it did its part
      throw caught;
    } finally {
      this.#used--;
      clearTimeout(timer);
    }
  }

  /** Takes a connection. A pool without a free one says nothing about the database. @throws {PlatformError} ANSWERS_WAITING */
  async #connect(): Promise<PoolConnection> {
    const { limitMs, connections } = this.#options;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const reason = `no connection was free within ${limitMs} ms`;
      late.reject(this.#used < connections ? new Error(reason) : new PlatformError('ANSWERS_WAITING', { reason }));
    }, limitMs);
    const connecting = this.#pool.getConnection();
    try {
      return await Promise.race([connecting, late.promise]);
    } catch (caught) {
      void connecting.then((opened) => opened.release()).catch(() => undefined);
      throw caught;
    } finally {
      clearTimeout(timer);
    }
  }

  async #run<T>(
    connection: PoolConnection,
    work: Work<T>,
    onAnswer: () => void
  ): Promise<{ readonly value: T } | { readonly refusal: PlatformError | ReadElsewhere }> {
    const opened = await this.#snapshots.open(connection);
    try {
      const query: Query = async <R extends SqlRow>(sql: string, values?: readonly (string | number | null)[]) => {
        const found = await this.#tables.run(sql, (known) => preparedRows<R>(connection, known, values));
        onAnswer();
        return found;
      };
      return { value: await work(query, opened) };
    } catch (caught) {
      if (isOfWork(caught)) return { refusal: caught };
      throw caught;
    }
  }
}
