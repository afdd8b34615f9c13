import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import { type Connection, rows } from './connection.ts';
import { type Writer, waitingLock, writerLock } from './writer-lock.ts';

const LOCK_WAIT_S = 2;

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
