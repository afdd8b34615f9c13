import {
  type Connection,
  databaseError,
  isConnectionLoss,
  isDriverError,
  isLost,
  type QueryOptions
} from './connection.ts';

/** Longer than any statement limit: only a server that no longer answers takes this long. */
const ANSWER_DEADLINE_MS = 90_000;
/** A connection that was not used for so long may have been ended meanwhile. */
const REST_MS = 1_000;

/**
 * One connection that is opened when it is needed, used by one at a time, and destroyed when anything on it failed.
 *
 * After an error nobody knows what a connection's transaction holds, so none is used again. Work that finds a connection lost which
 * rested is tried once more, on another.
 */
export class SerialConnection {
  readonly #open: () => Promise<Connection>;
  readonly #deadlineMs: number;
  #connection: Connection | undefined;
  #usedAt = Number.NEGATIVE_INFINITY;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(open: () => Promise<Connection>, deadlineMs: number = ANSWER_DEADLINE_MS) {
    this.#open = open;
    this.#deadlineMs = deadlineMs;
  }

  /** Waits for its turn, which the statement limit of those before bounds. @throws what `work` throws; {PlatformError} DATABASE_* */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => this.#run(work));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#connection && isLost(this.#connection)) this.destroy();
    const rested = this.#connection !== undefined && performance.now() - this.#usedAt > REST_MS;
    try {
      return await this.#attempt(work);
    } catch (caught) {
      if (rested && isConnectionLoss(caught)) return await this.#attempt(work).catch(rethrow);
      return rethrow(caught);
    } finally {
      this.#usedAt = performance.now();
    }
  }

  async #attempt<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#connection ??= withDeadline(await this.#open(), this.#deadlineMs);
    try {
      return await work(this.#connection);
    } catch (caught) {
      this.destroy();
      throw caught;
    }
  }

  /** Ends it at once; the next use opens another. */
  destroy(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }
}

/** The driver's errors are fatal or have codes, MariaDB's or the network's; those of Node itself are bugs. */
function rethrow(caught: unknown): never {
  const { code } = Object(caught) as { code?: unknown };
  const isOfDatabase = isDriverError(caught) || (typeof code === 'string' && !code.startsWith('ERR_'));
  throw isOfDatabase ? databaseError(caught) : caught;
}

/** A statement that is not answered in time fails, also when the server's host is gone without a word. */
function withDeadline(connection: Connection, timeout: number): Connection {
  const query = connection.query.bind(connection) as (options: QueryOptions) => Promise<unknown>;
  const limited = (first: string | QueryOptions, values?: unknown[]) =>
    query({ ...(typeof first === 'string' ? { sql: first, ...(values ? { values } : {}) } : first), timeout });
  connection.query = limited as Connection['query'];
  return connection;
}
