import { type Connection, rows } from '../../db/core/connection.ts';

/** Lookup tables that are no part of the rules, with the column that holds the text. */
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
export type LookupTable = keyof typeof TEXTS;

const MAX_REMEMBERED = 50_000;
const PER_STATEMENT = 1_000;

/** Ids of texts, dealt densely. A rollback leaves them, as it does in compatible indexers. */
export class Lookups {
  readonly #known = new Map<string, number>();
  readonly #last = new Map<LookupTable, number>();

  /** The id of a text that the last `prepare` was told of. @throws {Error} for another, which may be forgotten */
  idOf(table: LookupTable, text: string): number {
    const id = this.#known.get(`${table} ${text}`);
    if (id === undefined) throw new Error(`${table} has not been asked for ${JSON.stringify(text.slice(0, 80))}`);
    return id;
  }

  /** Reads the ids of texts, and writes those that are new. Ids of earlier calls may be forgotten. */
  async prepare(
    connection: Pick<Connection, 'query'>,
    texts: ReadonlyMap<LookupTable, ReadonlySet<string>>
  ): Promise<void> {
    if (this.#known.size > MAX_REMEMBERED) this.#known.clear();
    for (const [table, wanted] of texts) {
      const unknown = [...wanted].filter((text) => !this.#known.has(`${table} ${text}`));
      for (let at = 0; at < unknown.length; at += PER_STATEMENT) {
        await this.#prepareSome(connection, table, unknown.slice(at, at + PER_STATEMENT));
      }
    }
  }

  async #prepareSome(connection: Pick<Connection, 'query'>, table: LookupTable, texts: readonly string[]) {
    const column = TEXTS[table];
    const found = await rows<{ id: number; text: string }>(
      connection,
      `SELECT id, ${column} AS text FROM ${table} WHERE ${column} IN (?)`,
      [texts]
    );
    for (const { id, text } of found) this.#known.set(`${table} ${text}`, id);
    const missing = texts.filter((text) => !this.#known.has(`${table} ${text}`));
    if (missing.length === 0) return;
    let last = this.#last.get(table) ?? (await lastId(connection, table));
    const values = missing.map((text) => [++last, text]);
    await connection.query(`INSERT INTO ${table} (id, ${column}) VALUES ?`, [values]);
    this.#last.set(table, last);
    for (const [id, text] of values) this.#known.set(`${table} ${text}`, Number(id));
  }
}

async function lastId(connection: Pick<Connection, 'query'>, table: LookupTable): Promise<number> {
  const [last] = await rows<{ id: number }>(connection, `SELECT COALESCE(MAX(id), 0) AS id FROM ${table}`);
  return Number(last!.id);
}
