import type { Connection } from 'mysql2/promise';
import {
  describe,
  fromWire,
  has,
  open,
  type Place,
  quoted,
  type Row,
  type RowsByTable,
  select,
  type Table
} from './database.ts';

const ROWS_AT_ONCE = 500;
/** An anchor names the block of another chain. */
const hasOwnBlock = (table: Table): boolean => has(table, 'block_index') && table.name !== 'anchor_actions';

/** The database of a client of another make: tables made of the texts that a server sent, rows upserted by their keys. */
export class ReplicaDatabase {
  readonly #connection: Connection;
  #tables: ReadonlyMap<string, Table> = new Map();

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async open(at: Place): Promise<ReplicaDatabase> {
    const opened = new ReplicaDatabase(await open(at));
    await opened.#connection.query(
      "SET foreign_key_checks = 0, sql_mode = 'STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO'"
    );
    await opened.#reload();
    return opened;
  }

  async end(): Promise<void> {
    await this.#connection.end();
  }

  async create(definitions: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, text] of Object.entries(definitions)) {
      await this.#connection.query(`DROP TABLE IF EXISTS ${quoted(name)}`);
      await this.#connection.query(text);
    }
    await this.#reload();
  }

  async #reload(): Promise<void> {
    this.#tables = new Map((await describe(this.#connection)).map((table) => [table.name, table]));
  }

  /** The highest block; -1 where there is none. */
  async height(): Promise<number> {
    const [row] = await select(this.#connection, 'SELECT COALESCE(MAX(block_index), -1) AS h FROM blocks');
    return Number(row!['h']);
  }

  /** Applies one block or body, in one transaction. Rows with a unique key are upserted, others are added. */
  async apply(tables: RowsByTable, updated: RowsByTable = {}): Promise<void> {
    await this.#inTransaction(async () => {
      for (const [name, list] of [...Object.entries(tables), ...Object.entries(updated)]) await this.#write(name, list);
    });
  }

  /** Applies one block: each row of `data` is new, but for those of lookup tables. @throws what MariaDB says of a row that is there */
  async insert(data: RowsByTable, updated: RowsByTable = {}): Promise<void> {
    await this.#inTransaction(async () => {
      for (const [name, list] of Object.entries(data)) await this.#write(name, list, name.startsWith('index_'));
      for (const [name, list] of Object.entries(updated)) await this.#write(name, list);
    });
  }

  /** Sets all balances to what credits and debits add up to. */
  async rebuildBalances(): Promise<void> {
    const sum = `TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM SUM(amount)))`;
    const parts = [
      ['credits', '+'],
      ['debits', '-']
    ].map(
      ([table, sign]) => `SELECT address_id, tick_id, ${sign}CAST(amount AS DECIMAL(65,18)) AS amount FROM ${table}`
    );
    await this.#inTransaction(async () => {
      await this.#connection.query('DELETE FROM balances');
      await this.#connection.query(
        `INSERT INTO balances (address_id, tick_id, amount) SELECT address_id, tick_id, ${sum}
         FROM (${parts.join(' UNION ALL ')}) m GROUP BY address_id, tick_id HAVING SUM(amount) <> 0`
      );
    });
  }

  async #write(name: string, list: readonly Row[], replaces = true): Promise<void> {
    const table = this.#tables.get(name);
    if (!table) return;
    const columns = table.columns.filter(({ name: column, generated }) => !generated && list[0] && column in list[0]);
    const names = columns.map(({ name: column }) => quoted(column));
    const update = names.map((column) => `${column} = VALUES(${column})`);
    const upsert = replaces && table.unique.length > 0 ? ` ON DUPLICATE KEY UPDATE ${update.join(', ')}` : '';
    for (let at = 0; at < list.length; at += ROWS_AT_ONCE) {
      const values = list
        .slice(at, at + ROWS_AT_ONCE)
        .map((row) => columns.map(({ name: column }) => fromWire(row[column])));
      const sql = `INSERT INTO ${quoted(name)} (${names.join(', ')}) VALUES ?${upsert}`;
      await this.#connection.query(sql, [values]);
    }
  }

  /** Takes away what hangs on blocks from a height on, children first. */
  async cut(fork: number): Promise<void> {
    const parents = { tx_index: 'transactions', action_index: 'actions' } as const;
    await this.#inTransaction(async () => {
      for (const [column, parent] of Object.entries(parents)) {
        const above = `SELECT ${column} FROM ${parent} WHERE block_index >= ${fork}`;
        for (const table of this.#tables.values()) {
          if (hasOwnBlock(table) || !has(table, column) || !this.#tables.has(parent)) continue;
          await this.#connection.query(`DELETE FROM ${quoted(table.name)} WHERE ${column} IN (${above})`);
        }
      }
      for (const table of this.#tables.values()) {
        if (!hasOwnBlock(table)) continue;
        await this.#connection.query(`DELETE FROM ${quoted(table.name)} WHERE block_index >= ${fork}`);
      }
    });
  }

  async #inTransaction(work: () => Promise<void>): Promise<void> {
    await this.#connection.query('START TRANSACTION');
    try {
      await work();
      await this.#connection.query('COMMIT');
    } catch (fault) {
      await this.#connection.query('ROLLBACK');
      throw fault;
    }
  }
}
