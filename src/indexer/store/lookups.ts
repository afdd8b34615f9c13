import { rows, type Statements } from '../../db/connection.ts';
import { quoteText } from '../../db/sql-literal.ts';

/** Lookup tables that the rules do not know, each with the column that holds the text. */
const TEXTS = {
  index_actions: 'action',
  index_coins: 'coin',
  index_fiats: 'code',
  index_memos: 'memo',
  index_mime_types: 'type',
  index_pubkeys: 'pubkey',
  index_statuses: 'status',
  index_transactions: 'hash'
} as const;
/** Name of a lookup table. */
export type LookupTable = keyof typeof TEXTS;

/**
 * Tables whose texts are almost always new: hashes of transactions and blocks. A known one is that of a block that an
 * earlier release rolled back.
 */
const MOSTLY_NEW: ReadonlySet<LookupTable> = new Set(['index_transactions']);
/** ER_DUP_ENTRY. The whole statement has no effect. */
const DUPLICATE_KEY = 1062;
/** Most texts of one table that stay in memory between two calls. */
const MAX_REMEMBERED = 20_000;
const PER_STATEMENT = 1_000;

/** The highest id of each table, in the order of `LOOKUP_TABLES`. */
export type LastIds = readonly number[];
/** Lookup tables, in the order of `LastIds`. */
export const LOOKUP_TABLES = Object.keys(TEXTS) as LookupTable[];

/** Texts by their tables, in the order in which they get ids. */
export type Texts = ReadonlyMap<LookupTable, ReadonlySet<string>>;

/** Ids of texts without gaps, in the order of the chain, however many blocks are written at once. */
export class Lookups {
  readonly #known = new Map<LookupTable, Map<string, number>>();
  readonly #last = new Map<LookupTable, number>();

  /** Forgets all ids, and reads the highest id of each table. */
  async restart(connection: Statements): Promise<void> {
    this.#known.clear();
    for (const table of LOOKUP_TABLES) this.#last.set(table, await lastId(connection, table));
  }

  /**
   * Prepares the texts of blocks, one block after the other, as `prepare` does. @returns the highest ids after each
   * block
   */
  async prepareBlocks(connection: Statements, blocks: readonly Texts[]): Promise<LastIds[]> {
    const last = LOOKUP_TABLES.map((table) => this.#last.get(table)!);
    const all = new Map<LookupTable, Set<string>>();
    for (const [table, texts] of blocks.flatMap((block) => [...block]))
      all.set(table, (all.get(table) ?? new Set<string>()).union(texts));
    await this.prepare(connection, all);
    return blocks.map((block) => {
      for (const [place, table] of LOOKUP_TABLES.entries())
        for (const text of block.get(table) ?? []) last[place] = Math.max(last[place]!, this.idOf(table, text));
      return [...last];
    });
  }

  /**
   * Returns the id of a text that was given to the last `prepare`. @throws {Error} for any other text, which may be
   * forgotten
   */
  idOf(table: LookupTable, text: string): number {
    const id = this.#known.get(table)?.get(text);
    if (id === undefined) throw new Error(`${table} has not been asked for ${JSON.stringify(text.slice(0, 80))}`);
    return id;
  }

  /**
   * Reads the ids of texts, and writes the texts that are new. Call `restart` first. Ids of earlier calls may be
   * forgotten.
   */
  async prepare(connection: Statements, texts: Texts): Promise<void> {
    for (const [table, wanted] of texts) {
      const known = this.#knownOf(table);
      if (known.size > MAX_REMEMBERED) known.clear();
      const unknown = [...wanted].filter((text) => !known.has(text));
      for (let at = 0; at < unknown.length; at += PER_STATEMENT) {
        await this.#prepareSome(connection, table, unknown.slice(at, at + PER_STATEMENT));
      }
    }
  }

  async #prepareSome(connection: Statements, table: LookupTable, texts: readonly string[]) {
    if (MOSTLY_NEW.has(table) && (await this.#insertAll(connection, table, texts))) return;
    const column = TEXTS[table];
    const found = await rows<{ id: number; text: string }>(
      connection,
      `SELECT id, ${column} AS text FROM ${table} WHERE ${column} IN (?)`,
      [texts]
    );
    const known = this.#knownOf(table);
    for (const { id, text } of found) known.set(text, id);
    const missing = texts.filter((text) => !known.has(text));
    if (missing.length === 0) return;
    await this.#insert(connection, table, missing);
  }

  #knownOf(table: LookupTable): Map<string, number> {
    const known = this.#known.get(table) ?? new Map<string, number>();
    this.#known.set(table, known);
    return known;
  }

  /** Inserts texts. @returns false, with nothing written, where one of them was there */
  async #insertAll(connection: Statements, table: LookupTable, texts: readonly string[]) {
    try {
      await this.#insert(connection, table, texts);
      return true;
    } catch (caught) {
      if ((caught as { errno?: number }).errno === DUPLICATE_KEY) return false;
      throw caught;
    }
  }

  async #insert(connection: Statements, table: LookupTable, texts: readonly string[]) {
    let last = this.#last.get(table)!;
    const ids = new Map(texts.map((text) => [text, ++last]));
    const values = [...ids].map(([text, id]) => `(${id},${quoteText(text)})`);
    await connection.query(`INSERT INTO ${table} (id, ${TEXTS[table]}) VALUES ${values.join(',')}`);
    this.#last.set(table, last);
    const known = this.#knownOf(table);
    for (const [text, id] of ids) known.set(text, id);
  }
}

async function lastId(connection: Statements, table: LookupTable): Promise<number> {
  const [last] = await rows<{ id: number }>(connection, `SELECT COALESCE(MAX(id), 0) AS id FROM ${table}`);
  return Number(last!.id);
}
