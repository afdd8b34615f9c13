import { type Connection, connect, quoteName, rows } from '../../../src/db/core/connection.ts';
import { TABLES } from '../../../src/indexer/store/schema.ts';
import type { DatabaseCoordinates } from '../../../src/wire/database.ts';

const ROWS_PER_STATEMENT = 1_000;
/** Written anew by each group; all other tables only grow. */
const REWRITTEN = 'balances';

type Row = Record<string, unknown>;

/** Writes into one database what an indexer has written into another, as multi-row INSERTs. */
export class SameRows {
  readonly #from: Connection;
  readonly #to: Connection;
  readonly #copied = new Map<string, number>();

  private constructor(from: Connection, to: Connection) {
    this.#from = from;
    this.#to = to;
  }

  static async open(from: DatabaseCoordinates, to: DatabaseCoordinates): Promise<SameRows> {
    return new SameRows(await connect(from), await connect(to));
  }

  /** Copies what is new since the last call in one transaction. @returns milliseconds without the time to read it */
  async copy(): Promise<number> {
    const found: (readonly [table: string, rows: readonly Row[]])[] = [];
    for (const table of [...TABLES.keys(), 'chain_blocks']) found.push([table, await this.#readNew(table)]);
    const began = performance.now();
    await this.#to.query('START TRANSACTION');
    for (const [table, added] of found) await this.#insert(table, added);
    await this.#to.query('COMMIT');
    return performance.now() - began;
  }

  close(): void {
    this.#from.destroy();
    this.#to.destroy();
  }

  async #readNew(table: string): Promise<readonly Row[]> {
    const known = table === REWRITTEN ? 0 : (this.#copied.get(table) ?? 0);
    const found = await rows<Row>(this.#from, `SELECT * FROM ${quoteName(table)} LIMIT 1000000 OFFSET ${known}`);
    this.#copied.set(table, known + found.length);
    return found;
  }

  async #insert(table: string, added: readonly Row[]): Promise<void> {
    if (added.length === 0) return;
    const columns = Object.keys(added[0]!).map(quoteName).join(', ');
    // Each store deals VALID_STATUS itself when it opens.
    const statement = table === 'index_statuses' ? 'INSERT IGNORE' : 'INSERT';
    const ending = table === REWRITTEN ? 'ON DUPLICATE KEY UPDATE amount = VALUES(amount)' : '';
    const values = added.map((row) => Object.values(row));
    for (let at = 0; at < values.length; at += ROWS_PER_STATEMENT) {
      const some = values.slice(at, at + ROWS_PER_STATEMENT);
      await this.#to.query(`${statement} INTO ${quoteName(table)} (${columns}) VALUES ? ${ending}`, [some]);
    }
  }
}
