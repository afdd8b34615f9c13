import { type Connection, quoteName, rows } from '../../../src/db/connection.ts';
import { LOOKUPS, type LookupName } from './tables.ts';

/** Ids of more values than this are asked for again. */
const KNOWN_AT_MOST = 50_000;

/**
 * The ids of an indexer's values.
 *
 * Addresses and tickers get the highest surviving id plus one and carry their block; others get theirs from AUTO_INCREMENT,
 * with gaps, and survive a reorg.
 */
export class Lookups {
  readonly #connection: Connection;
  readonly #known = new Map<string, number>();
  readonly #highest: Record<string, number>;
  /** Ids of the values of small tables. */
  readonly #pools: Record<string, number[]>;

  private constructor(connection: Connection, highest: Record<string, number>, pools: Record<string, number[]>) {
    this.#connection = connection;
    this.#highest = highest;
    this.#pools = pools;
  }

  static async load(connection: Connection): Promise<Lookups> {
    const highest: Record<string, number> = {};
    const pools: Record<string, number[]> = {};
    for (const table of Object.keys(LOOKUPS)) {
      const [last] = await rows<{ id: number }>(connection, `SELECT COALESCE(MAX(id), 0) AS id FROM ${table}`);
      highest[table] = Number(last!.id);
      if (isDealt(table) || table === 'index_transactions') continue;
      const found = await rows<{ id: number }>(connection, `SELECT id FROM ${table} ORDER BY id LIMIT 500`);
      pools[table] = found.map(({ id }) => Number(id));
    }
    return new Lookups(connection, highest, pools);
  }

  /** The id of a value, dealt now if it is new. @param block stamp of a new address or ticker; null outside a block */
  async idOf(table: LookupName, value: string, block: number | null = null): Promise<number> {
    const key = `${table} ${value}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const column = quoteName(LOOKUPS[table]);
    const [found] = await rows<{ id: number }>(
      this.#connection,
      `SELECT id FROM ${table} WHERE ${column} = ? ORDER BY id LIMIT 1`,
      [value]
    );
    const id = found ? Number(found.id) : await this.#add(table, column, value, block);
    if (this.#known.size >= KNOWN_AT_MOST) this.#known.clear();
    this.#known.set(key, id);
    return id;
  }

  async #add(table: LookupName, column: string, value: string, block: number | null): Promise<number> {
    if (isDealt(table)) {
      this.#highest[table]! += 1;
      await this.#connection.query(`INSERT INTO ${table} (id, ${column}, block_index) VALUES (?, ?, ?)`, [
        this.#highest[table],
        value,
        block
      ]);
      return this.#highest[table]!;
    }
    const [result] = await this.#connection.query(`INSERT INTO ${table} (${column}) VALUES (?)`, [value]);
    const id = (result as { insertId: number }).insertId;
    this.#highest[table] = id;
    if (this.#pools[table] && this.#pools[table].length < 500) this.#pools[table].push(id);
    return id;
  }

  /** The highest id in use. */
  highest(table: LookupName): number {
    return this.#highest[table] ?? 0;
  }

  /** Ids of a small table's values. */
  pool(table: LookupName): readonly number[] {
    return this.#pools[table] ?? [];
  }
}

const isDealt = (table: string): boolean => table === 'index_addresses' || table === 'index_tickers';
