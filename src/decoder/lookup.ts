import { LRUCache } from 'lru-cache';
import { pages } from '../db/pages.ts';
import { EMPTY_ID } from './schema.ts';

/** A statement on the writer's connection. */
export type Query = <T extends object>(sql: string, values?: readonly unknown[]) => Promise<T[]>;

const REMEMBERED_NAMES = 200_000;

/**
 * One lookup table of a decoder database: gives ids to names.
 *
 * New names get the next numbers in the order of the chain, so that all decoders of a chain assign the same ids.
 */
export class Lookup {
  readonly #query: Query;
  readonly #table: string;
  readonly #column: string;
  readonly #ids = new LRUCache<string, number>({ max: REMEMBERED_NAMES });
  #nextId: number | null = null;

  constructor(query: Query, table: 'index_addresses' | 'index_transactions', column: 'address' | 'hash') {
    this.#query = query;
    this.#table = table;
    this.#column = column;
  }

  /**
   * Returns the ids of names and adds missing names. After a failed transaction, call `forget`.
   *
   * @param lists in the order of the chain
   * @returns ids by name, and for each list the highest id before it
   */
  async idsOf(
    lists: readonly (readonly string[])[]
  ): Promise<{ readonly ids: ReadonlyMap<string, number>; readonly lastIds: readonly number[] }> {
    const ids = new Map([['', EMPTY_ID]]);
    await this.#find(
      [...new Set(lists.flat())].filter((name) => name !== ''),
      ids
    );
    let nextId = this.#nextId ?? (await this.#readNextId());
    const added: [number, string][] = [];
    const lastIds = lists.map((names) => {
      const lastId = nextId - 1;
      for (const name of names) {
        if (ids.has(name)) continue;
        ids.set(name, nextId);
        this.#ids.set(name, nextId);
        added.push([nextId++, name]);
      }
      return lastId;
    });
    this.#nextId = nextId;
    for (const part of pages(added)) {
      await this.#query(`INSERT INTO ${this.#table} (id, ${this.#column}) VALUES ?`, [part]);
    }
    return { ids, lastIds };
  }

  /** Returns the id of a name; undefined when it has none. */
  async idOf(name: string): Promise<number | undefined> {
    return (await this.knownIds([name])).get(name);
  }

  /** Returns the ids of those names that have one. */
  async knownIds(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const ids = new Map<string, number>();
    await this.#find(names, ids);
    return ids;
  }

  /** Deletes the names above an id. Their numbers are used again. */
  async cutBack(lastId: number): Promise<void> {
    await this.#query(`DELETE FROM ${this.#table} WHERE id > ?`, [lastId]);
    this.forget();
  }

  /** Drops cached state: the next call reads the table. */
  forget(): void {
    this.#ids.clear();
    this.#nextId = null;
  }

  async #find(names: readonly string[], ids: Map<string, number>): Promise<void> {
    const unknown = names.filter((name) => {
      const id = this.#ids.get(name);
      if (id !== undefined) ids.set(name, id);
      return id === undefined;
    });
    for (const part of pages(unknown)) {
      const found = await this.#query<{ id: number; name: string }>(
        `SELECT id, ${this.#column} AS name FROM ${this.#table} WHERE ${this.#column} IN (?)`,
        [part]
      );
      for (const { id, name } of found) {
        ids.set(name, id);
        this.#ids.set(name, id);
      }
    }
  }

  async #readNextId(): Promise<number> {
    const [row] = await this.#query<{ next: number }>(`SELECT MAX(id) + 1 AS next FROM ${this.#table}`);
    return Number(row!.next);
  }
}
