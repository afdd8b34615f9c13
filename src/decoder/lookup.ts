import { LRUCache } from 'lru-cache';
import { EMPTY_ID } from './schema.ts';

/** A statement on the writer's connection. */
export type Query = <T extends object>(sql: string, values?: readonly unknown[]) => Promise<T[]>;

const REMEMBERED_NAMES = 200_000;
/** Names of one statement. */
const PAGE = 1_000;

/**
 * One lookup table of a decoder database: gives names their ids.
 *
 * New names get the next numbers in the order in which they are given, so that decoders of one chain deal the same ids.
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
   * Ids of names, made where they are missing. After a transaction that failed `forget` must be called.
   *
   * @param names  in the order of the chain
   */
  async idsOf(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const wanted = [...new Set(names)];
    const ids = new Map([['', EMPTY_ID]]);
    await this.#find(
      wanted.filter((name) => name !== ''),
      ids
    );
    this.#nextId ??= await this.#readNextId();
    const added: [number, string][] = [];
    for (const name of wanted) {
      if (ids.has(name)) continue;
      const id = this.#nextId++;
      ids.set(name, id);
      this.#ids.set(name, id);
      added.push([id, name]);
    }
    for (const part of pages(added)) {
      await this.#query(`INSERT INTO ${this.#table} (id, ${this.#column}) VALUES ?`, [part]);
    }
    return ids;
  }

  /** Takes nothing for granted that is not read from the table again. */
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

/** A list in parts that one statement takes. */
export function pages<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / PAGE) }, (_, page) => list.slice(page * PAGE, (page + 1) * PAGE));
}
