import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { columnSql, ORDER_OF_ROWS, tableOf } from './tables.ts';

/** An action with the verdicts of its rows. */
export interface ReadAction {
  readonly index: number;
  readonly name: string;
  /** Undefined where no transaction has made it. */
  readonly txid: string | undefined;
  readonly verdicts: readonly string[];
}

type Values = readonly (string | number)[];

/** Reads an indexer's database as its users read it. */
export class DatabaseReader {
  readonly #connection: Connection;
  readonly #columns: ReadonlyMap<string, ReadonlySet<string>>;

  private constructor(connection: Connection, columns: ReadonlyMap<string, ReadonlySet<string>>) {
    this.#connection = connection;
    this.#columns = columns;
  }

  static async open(database: DatabaseCoordinates): Promise<DatabaseReader> {
    const connection = await connect(database);
    const columns = new Map<string, Set<string>>();
    const found = await rows(
      connection,
      'SELECT table_name AS name, column_name AS part FROM information_schema.columns WHERE table_schema = DATABASE()'
    );
    for (const { name, part } of found) {
      columns.set(String(name), (columns.get(String(name)) ?? new Set()).add(String(part)));
    }
    return new DatabaseReader(connection, columns);
  }

  async close(): Promise<void> {
    await this.#connection.end();
  }

  async query(sql: string, values: Values = []): Promise<Record<string, unknown>[]> {
    return await rows(this.#connection, sql, values);
  }

  /** The actions of a block, in their order. */
  async actionsOf(height: number): Promise<ReadAction[]> {
    const found = await this.query(
      `SELECT a.action_index, n.action, a.action_format, h.hash FROM actions a JOIN index_actions n ON n.id = a.action_id
       LEFT JOIN transactions t ON t.tx_index = a.tx_index LEFT JOIN index_transactions h ON h.id = t.tx_hash_id
       WHERE a.block_index = ? ORDER BY a.action_index`,
      [height]
    );
    const tableOfRow = (row: Record<string, unknown>) =>
      tableOf(String(row['action']), row['action_format'] === null ? null : Number(row['action_format']));
    const verdicts = new Map<string, string[]>();
    for (const table of new Set(found.flatMap((row) => tableOfRow(row) ?? []))) {
      if (!this.#columns.get(table)?.has('status_id')) continue;
      const order = ['t.action_index', ...(ORDER_OF_ROWS[table] ? [`t.${ORDER_OF_ROWS[table]}`] : [])].join(', ');
      for (const row of await this.query(
        `SELECT t.action_index, s.status FROM ${table} t LEFT JOIN index_statuses s ON s.id = t.status_id
         WHERE t.action_index BETWEEN ? AND ? ORDER BY ${order}`,
        [Number(found[0]!['action_index']), Number(found.at(-1)!['action_index'])]
      )) {
        const key = `${table} ${row['action_index']}`;
        verdicts.set(key, [...(verdicts.get(key) ?? []), verdictOf(row['status'])]);
      }
    }
    return found.map((row) => ({
      index: Number(row['action_index']),
      name: String(row['action']),
      txid: row['hash'] === null ? undefined : String(row['hash']),
      verdicts: verdicts.get(`${tableOfRow(row)} ${row['action_index']}`) ?? []
    }));
  }

  /** Whole name of a column that an example may write without its end `_id`. @throws {Error} where there is none */
  column(table: string, written: string): string {
    const columns = this.#columns.get(table);
    const column = [written, `${written}_id`].find((name) => columns?.has(name));
    if (column === undefined) throw new Error(`the table ${table} has no column ${written}`);
    return column;
  }

  /** Values of some columns, with texts for ids, of the rows that a condition holds for. */
  async rowsOf(table: string, columns: readonly string[], where: string, values: Values): Promise<string[][]> {
    const whole = columns.length === 0 ? ['1 AS v0'] : columns.map((name, n) => `${columnSql(table, name)} AS v${n}`);
    const found = await this.query(`SELECT ${whole.join(', ')} FROM ${table} t WHERE ${where}`, values);
    return found.map((row) => columns.map((name, place) => shown(name, row[`v${place}`])));
  }
}

function shown(column: string, value: unknown): string {
  if (column === 'status_id') return verdictOf(value);
  return value === null ? 'NULL' : String(value);
}

/** A status without the words that every refusal begins with. */
function verdictOf(status: unknown): string {
  return status === null ? 'NULL' : String(status).replace(/^invalid: /, '');
}
