import type { PoolConnection } from 'mysql2/promise';
import { rows, type SqlRow } from '../../db/connection.ts';
import type { OptionalTables } from './optional-tables.ts';

/** The snapshot that a connection has open. */
interface Snapshot {
  readonly opened: readonly SqlRow[];
  /** End of its life, in milliseconds of the process's clock. */
  readonly until: number;
  /** Epoch of the reader when it was opened. */
  readonly epoch: number;
  isUsed: boolean;
}

/** Longest time of the end of a snapshot: a connection that says nothing any more would keep its place in the pool for ever. */
const END_LIMIT_MS = 5_000;
const BEGIN = 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY';

/**
 * The snapshots of a pool's connections. One serves all reads of a moment, since to open it costs as much as a read. When one
 * shows something new, those of the other connections are not used any more: later answers are not older than earlier ones.
 */
export class Snapshots {
  readonly #opening: string;
  readonly #tables: OptionalTables;
  readonly #sharedMs: number;
  readonly #open = new WeakMap<object, Snapshot>();
  /** Opening rows of the newest snapshot; other rows begin the next epoch. */
  #newest = '';
  #epoch = 0;

  /** @param opening the first statement of each snapshot @param sharedMs how long one serves; 0: for one read */
  constructor(opening: string, tables: OptionalTables, sharedMs: number) {
    this.#opening = opening;
    this.#tables = tables;
    this.#sharedMs = sharedMs;
  }

  /** Opens a snapshot, or goes on in the one that is open. @returns the rows of its opening statement */
  async open(connection: PoolConnection): Promise<readonly SqlRow[]> {
    const found = this.#open.get(rawOf(connection));
    if (found && found.until > performance.now() && found.epoch === this.#epoch) {
      found.isUsed = true;
      return found.opened;
    }
    this.#open.delete(rawOf(connection));
    const began = performance.now();
    // One message, for each answer waits for a round trip.
    const open = (opening: string) => rows<SqlRow>(connection, `${BEGIN}; ${opening}`);
    const [, answered] = await this.#tables.run(this.#opening, open);
    const opened = answered as unknown as SqlRow[];
    const shows = JSON.stringify(opened);
    if (shows !== this.#newest) {
      this.#newest = shows;
      this.#epoch++;
    }
    if (this.#sharedMs > 0) this.#keep(connection, { opened, until: began + this.#sharedMs });
    return opened;
  }

  /** Gives the connection back; its snapshot ends behind the caller's back. */
  release(connection: PoolConnection): void {
    const found = this.#open.get(rawOf(connection));
    if (found) {
      found.isUsed = false;
      connection.release();
    } else end(connection, () => connection.release());
  }

  #keep(connection: PoolConnection, { opened, until }: Pick<Snapshot, 'opened' | 'until'>): void {
    const snapshot: Snapshot = { opened, until, epoch: this.#epoch, isUsed: true };
    this.#open.set(rawOf(connection), snapshot);
    const close = () => {
      if (this.#open.get(rawOf(connection)) !== snapshot) return;
      if (snapshot.isUsed) return void setTimeout(close, this.#sharedMs).unref();
      this.#open.delete(rawOf(connection));
      end(connection);
    };
    setTimeout(close, Math.max(1, until - performance.now())).unref();
  }
}

/** Returns the driver's connection: the pool wraps it anew each time that it hands it out. */
const rawOf = (connection: PoolConnection): object => (connection as unknown as { connection: object }).connection;

/** Ends a snapshot: an open one keeps MariaDB from clearing away old rows. */
function end(connection: PoolConnection, then: () => void = () => undefined): void {
  const late = setTimeout(() => connection.destroy(), END_LIMIT_MS).unref();
  const ended = connection.query('COMMIT').finally(() => clearTimeout(late));
  ended.then(then, () => connection.destroy());
}
