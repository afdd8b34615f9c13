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
 * After an error nobody knows what a connection's transaction holds, so none is used again. Work whose first statement finds that a
 * rested connection is lost is tried once more, on another. Once a statement was answered, work is never tried again here: it may have
 * kept what it read.
 */
export class SerialConnection {
  readonly #open: () => Promise<Connection>;
  readonly #deadlineMs: number;
  #connection: Connection | undefined;
  /** Time at which its last statement was answered, or its last use ended. */
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
    const usedAt = this.#usedAt;
    const rested = this.#connection !== undefined && performance.now() - usedAt > REST_MS;
    try {
      return await this.#attempt(work);
    } catch (caught) {
      const isAnswered = this.#usedAt !== usedAt;
      if (rested && !isAnswered && isConnectionLoss(caught)) return await this.#attempt(work).catch(rethrow);
      return rethrow(caught);
    } finally {
      this.#usedAt = performance.now();
    }
  }

  async #attempt<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#connection ??= withDeadline(await this.#open(), this.#deadlineMs, () => {
      this.#usedAt = performance.now();
    });
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

/** Returns an error of the driver (fatal, or with a code of MariaDB or the network) as a PlatformError, any other as it is: a bug. */
export function namedFault(caught: unknown): unknown {
  const { code } = Object(caught) as { code?: unknown };
  const isOfDatabase = isDriverError(caught) || (typeof code === 'string' && !code.startsWith('ERR_'));
  return isOfDatabase ? databaseError(caught) : caught;
}

/** Throws what `namedFault` returns. */
export function rethrow(caught: unknown): never {
  throw namedFault(caught);
}

/**
 * Makes a statement that is not answered in time fail, also when the server's host is gone without a word.
 *
 * @param answered called with each statement that succeeds
 * @returns the connection
 */
export function withDeadline(
  connection: Connection,
  timeout: number = ANSWER_DEADLINE_MS,
  answered: () => void = () => undefined
): Connection {
  const query = connection.query.bind(connection) as (options: QueryOptions) => Promise<unknown>;
  const limited = async (first: string | QueryOptions, values?: unknown[]) => {
    const sent = { ...(typeof first === 'string' ? { sql: first, ...(values ? { values } : {}) } : first), timeout };
    const found = await query(sent);
    answered();
    return found;
  };
  connection.query = limited as Connection['query'];
  return connection;
}
