import assert from 'node:assert/strict';
import { type Connection, connect, quoteName, rows } from '../../../../src/db/connection.ts';
import { TABLES } from '../../../../src/indexer/store/schema.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';

const ROWS_PER_STATEMENT = 1_000;
/** Rows of these change: each group of blocks writes over what it changed. */
const WRITTEN_OVER: ReadonlySet<string> = new Set(['balances', 'markets', 'tokens']);
/** The clock of each run is in them. */
const NOT_COPIED: ReadonlySet<string> = new Set(['events', 'schema_migrations']);
const NAMES = [...TABLES.keys(), 'chain_blocks'].filter((name) => !NOT_COPIED.has(name));

type Row = Record<string, unknown>;

/** Blocks that are written in one transaction. */
export interface Group {
  readonly first: number;
  readonly last: number;
}

/** Writes into a copy of a ledger what an indexer wrote into the original meanwhile: the same rows as multi-row INSERTs. */
export class SameRows {
  readonly #from: Connection;
  readonly #to: Connection;
  /** The last id that was copied of each table that has ids and names no block. */
  readonly #lastIds = new Map<string, number>();

  private constructor(from: Connection, to: Connection) {
    this.#from = from;
    this.#to = to;
  }

  /** @param to has what `from` had before its blocks */
  static async open(from: DatabaseCoordinates, to: DatabaseCoordinates): Promise<SameRows> {
    const same = new SameRows(await connect(from), await connect(to));
    for (const name of NAMES) {
      if (!name.startsWith('index_')) continue;
      const [last] = await rows<{ id: number }>(same.#to, `SELECT COALESCE(MAX(id), 0) AS id FROM ${quoteName(name)}`);
      same.#lastIds.set(name, Number(last!.id));
    }
    return same;
  }

  /** Copies the rows of some blocks in one transaction. @returns milliseconds without the time to read them */
  async copy(group: Group): Promise<number> {
    const found: (readonly [table: string, rows: readonly Row[]])[] = [];
    for (const name of NAMES) found.push([name, await this.#read(name, group)]);
    const began = performance.now();
    await this.#to.query('START TRANSACTION');
    for (const [table, added] of found) await this.#insert(table, added);
    await this.#to.query('COMMIT');
    return performance.now() - began;
  }

  /** @throws {AssertionError} naming the first table of which the copy has other rows, keys or columns */
  async compare(): Promise<void> {
    for (const name of NAMES) {
      const [expected, actual] = [await tableFacts(this.#from, name), await tableFacts(this.#to, name)];
      assert.deepEqual(actual, expected, `the copy of ${name}`);
    }
  }

  close(): void {
    this.#from.destroy();
    this.#to.destroy();
  }

  async #read(name: string, { first, last }: Group): Promise<readonly Row[]> {
    const columns = TABLES.get(name)?.columns.map((column) => column.name) ?? ['block_index'];
    const actions = `action_index BETWEEN (SELECT MIN(action_index) FROM actions WHERE block_index BETWEEN ${first} AND ${last})
      AND (SELECT MAX(action_index) FROM actions WHERE block_index BETWEEN ${first} AND ${last})`;
    const select = (where: string) => rows<Row>(this.#from, `SELECT * FROM ${quoteName(name)} t WHERE ${where}`);
    if (name === 'balances')
      return await rows<Row>(
        this.#from,
        `SELECT b.* FROM (SELECT address_id, tick_id FROM credits WHERE ${actions}
           UNION SELECT address_id, tick_id FROM debits WHERE ${actions}) w
         STRAIGHT_JOIN balances b ON b.address_id = w.address_id AND b.tick_id = w.tick_id ORDER BY b.id`
      );
    if (name === 'tokens')
      return await select(`tick_id IN (SELECT tick_id FROM (
          SELECT tick_id, amount + 0 AS sum FROM credits WHERE ${actions} UNION ALL
          SELECT tick_id, -amount FROM debits WHERE ${actions} UNION ALL
          SELECT tick_id, amount + 0 FROM escrows WHERE ${actions}) moved GROUP BY tick_id HAVING SUM(sum) <> 0)
        OR tick_id IN (SELECT tick_id FROM issues WHERE ${actions})`);
    if (name === 'markets')
      return await select(
        `last_updated IN (SELECT block_time FROM blocks WHERE block_index BETWEEN ${first} AND ${last})`
      );
    if (columns.includes('block_index')) return await select(`block_index BETWEEN ${first} AND ${last}`);
    if (columns.includes('action_index')) return await select(actions);
    return name.startsWith('index_') ? await this.#readTexts(name, { first, last }) : [];
  }

  /** Hashes of these blocks, which are the next ones by their ids; of other texts all that are new. */
  async #readTexts(name: string, { first, last }: Group): Promise<readonly Row[]> {
    const isHash = name === 'index_transactions';
    const known = this.#lastIds.get(name)!;
    const until = isHash ? await this.#lastHash({ first, last }) : Number.MAX_SAFE_INTEGER;
    const found = await rows<Row>(this.#from, `SELECT * FROM ${quoteName(name)} WHERE id > ? AND id <= ?`, [
      known,
      until
    ]);
    this.#lastIds.set(name, Math.max(known, ...found.map(({ id }) => Number(id))));
    return found;
  }

  async #lastHash({ first, last }: Group): Promise<number> {
    const [found] = await rows<{ id: number }>(
      this.#from,
      `SELECT GREATEST(
         (SELECT MAX(tx_hash_id) FROM transactions WHERE block_index BETWEEN ${first} AND ${last}),
         (SELECT MAX(GREATEST(ledger_hash_id, actions_hash_id, contract_hash_id)) FROM blocks
          WHERE block_index BETWEEN ${first} AND ${last})) AS id`
    );
    return Number(found!.id);
  }

  async #insert(table: string, added: readonly Row[]): Promise<void> {
    if (added.length === 0) return;
    const columns = Object.keys(added[0]!).map(quoteName);
    const overwrite = columns.map((column) => `${column} = VALUES(${column})`).join(', ');
    const ending = WRITTEN_OVER.has(table) ? `ON DUPLICATE KEY UPDATE ${overwrite}` : '';
    const values = added.map((row) => Object.values(row));
    for (let at = 0; at < values.length; at += ROWS_PER_STATEMENT) {
      const some = values.slice(at, at + ROWS_PER_STATEMENT);
      await this.#to.query(`INSERT INTO ${quoteName(table)} (${columns.join(', ')}) VALUES ? ${ending}`, [some]);
    }
  }
}

/** Returns facts by which two tables are compared: the sum over their rows, and their definition without the next id. */
async function tableFacts(connection: Connection, name: string): Promise<unknown> {
  const [sum] = await rows(connection, `CHECKSUM TABLE ${quoteName(name)}`);
  const [made] = await rows<Record<string, string>>(connection, `SHOW CREATE TABLE ${quoteName(name)}`);
  return { checksum: sum!['Checksum'], definition: made!['Create Table']?.replace(/ AUTO_INCREMENT=\d+/, '') };
}
