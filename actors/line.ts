import type { Connection } from '../src/db/connection.ts';

/**
 * One connection that is opened when it is needed, used by one at a time, and destroyed when anything on it failed.
 *
 * After an error nobody knows what a connection's transaction holds, so none is used again.
 */
export class Line {
  readonly #open: () => Promise<Connection>;
  #connection: Connection | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(open: () => Promise<Connection>) {
    this.#open = open;
  }

  /** Waits for its turn, which the statement limit of those before bounds. @throws what `work` throws */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => this.#run(work));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#connection ??= await this.#open();
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
