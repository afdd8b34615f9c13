import { type Connection, connect, quoteName, rows, statementTag } from '../../../db/connection.ts';
import type { DatabaseCoordinates } from '../../../wire/data/database.ts';
import type { WireRow } from '../../../wire/data/messages.ts';
import { deleteReceived } from '../database/row-statements.ts';
import { canonicalRow, type ReplicaTable } from '../database/schema.ts';
import { loadBatch } from './bulk-load.ts';

async function countRows(connection: Connection, table: string): Promise<number> {
  const [row] = await rows(connection, `SELECT COUNT(*) AS n FROM ${quoteName(table)}`);
  return Number(row!['n']);
}

/** A few connections that load batches side by side; as many batches are in work as there are connections. */
export class LoaderPool {
  readonly #connections: readonly Connection[];
  readonly #idle: Connection[];
  readonly #bulk: boolean;
  readonly #running = new Set<Promise<void>>();
  readonly #ofTable = new Map<string, { count: number; readonly batches: Set<Promise<void>> }>();

  private constructor(connections: readonly Connection[], bulk: boolean) {
    this.#connections = connections;
    this.#idle = [...connections];
    this.#bulk = bulk;
  }

  static async open(to: DatabaseCoordinates, generation: number, size: number, bulk: boolean): Promise<LoaderPool> {
    const tag = statementTag(to.name, generation);
    const connections = await Promise.all(Array.from({ length: size }, () => connect(to, { tag })));
    for (const connection of connections) await connection.query('SET SESSION foreign_key_checks = 0');
    return new LoaderPool(connections, bulk);
  }

  /** Begins to load a batch; waits only for a free connection. @throws the error of an earlier batch */
  async add(table: ReplicaTable, batch: readonly WireRow[]): Promise<void> {
    while (this.#idle.length === 0) await Promise.race(this.#running);
    const connection = this.#idle.pop()!;
    const work = loadBatch(connection, table, batch, this.#bulk).then(() => {
      this.#idle.push(connection);
      this.#running.delete(work);
    });
    work.catch(() => undefined); // the next caller gets the error
    this.#running.add(work);
    const known = this.#ofTable.get(table.name) ?? { count: 0, batches: new Set() };
    this.#ofTable.set(table.name, known);
    known.count += batch.length;
    known.batches.add(work);
    void work.then(
      () => known.batches.delete(work),
      () => undefined
    );
  }

  /** Deletes loaded rows with the identities of some rows, which are sent again. */
  async remove(table: ReplicaTable, batch: readonly WireRow[]): Promise<void> {
    const here = await this.finish(table.name);
    const [connection] = this.#connections;
    const list = batch.map((row) => canonicalRow(table, row));
    const before = await countRows(connection!, table.name);
    await deleteReceived(connection!, table, list);
    const removed = before - (await countRows(connection!, table.name));
    this.#ofTable.get(table.name)!.count = here - removed;
  }

  /** Waits until all rows of a table are committed. @returns how many */
  async finish(table: string): Promise<number> {
    const known = this.#ofTable.get(table);
    await Promise.all(known?.batches ?? []);
    return known?.count ?? 0;
  }

  async close(): Promise<void> {
    await Promise.all(this.#running);
    await Promise.all(this.#connections.map((connection) => connection.end()));
  }

  /** Ends the connections; MariaDB rolls back their uncommitted batches. */
  destroy(): void {
    for (const connection of this.#connections) connection.destroy();
  }
}
