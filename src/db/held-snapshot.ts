import { PlatformError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { rethrow, withDeadline } from './serial-connection.ts';

/** One consistent snapshot that stays open between reads, for some time after the last one. */
export class HeldSnapshot {
  readonly #connection: Connection;
  readonly #restMs: number;
  readonly #ended: () => void;
  #turn: Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;
  #isOpen = true;
  #reads = 0;

  /**
   * Begins it.
   *
   * @param connection of its own; it is destroyed at the end
   * @param restMs for so long it stays open without a read
   * @param ended called once
   */
  constructor(connection: Connection, restMs: number, ended: () => void) {
    this.#connection = withDeadline(connection);
    this.#restMs = restMs;
    this.#ended = ended;
    this.#turn = this.#connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
    this.#turn.catch(() => this.end());
  }

  /** False once it has ended: nothing more can be read in it. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Reads in it, after earlier callers. A read that fails ends it. @throws what `read` throws; {PlatformError} DATABASE_* */
  async use<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    clearTimeout(this.#timer);
    this.#reads += 1;
    const turn = this.#turn.then(() => {
      if (!this.#isOpen) throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the snapshot was ended' });
      return read(this.#connection);
    });
    this.#turn = turn.catch(() => undefined);
    try {
      return await turn;
    } catch (caught) {
      this.end();
      return rethrow(caught);
    } finally {
      this.#reads -= 1;
      if (this.#isOpen && this.#reads === 0) this.#timer = setTimeout(() => this.end(), this.#restMs);
    }
  }

  /** Ends it, and what is under way in it. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#timer);
    this.#connection.destroy();
    this.#ended();
  }
}
