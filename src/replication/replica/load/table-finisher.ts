import { type Connection, connect, statementTag } from '../../../db/connection.ts';
import type { DatabaseCoordinates } from '../../../wire/data/database.ts';

type Work = (connection: Connection) => Promise<void>;

/** Finishes loaded tables, one after another on its own connection, while the next ones load. */
export class TableFinisher {
  readonly #connection: Connection;
  #tail: Promise<void> = Promise.resolve();
  #fault: unknown;
  #abandoned = false;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async open(to: DatabaseCoordinates, generation: number): Promise<TableFinisher> {
    const connection = await connect(to, { tag: statementTag(to.name, generation), statementLimitS: 0 });
    await connection.query('SET SESSION foreign_key_checks = 0');
    return new TableFinisher(connection);
  }

  /** Begins when everything before it is done; not at all when that failed or was abandoned. */
  add(work: Work): void {
    this.#tail = this.#tail.then(async () => {
      if (!this.#abandoned) await work(this.#connection);
    });
    this.#tail.catch((caught: unknown) => {
      this.#fault ??= caught;
    });
  }

  /** @throws the first error of any work so far */
  throwIfFailed(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Waits for all work. @throws its first error */
  async settled(): Promise<void> {
    await this.#tail;
  }

  async end(): Promise<void> {
    await this.#tail;
    await this.#connection.end();
  }

  /** Ends the connection; all work has stopped when this returns. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    this.#connection.destroy();
    await this.#tail.catch(() => undefined);
  }
}
