import { quoteName, type Statements } from '../../../src/db/connection.ts';

export type Value = string | number | bigint | Buffer | null;
export type Row = Readonly<Record<string, Value>>;

const ROWS_PER_STATEMENT = 1_000;

/** Returns epoch seconds as MariaDB writes them, in UTC. */
export function sqlTime(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

/** Rows to be written, by table; each table's first row says the columns. */
export class RowBuffer {
  readonly #rows = new Map<string, Row[]>();

  add(table: string, row: Row): void {
    const list = this.#rows.get(table);
    if (list) list.push(row);
    else this.#rows.set(table, [row]);
  }

  /** Inserts everything and forgets it. @param replaced columns to overwrite where the row's key exists, by table */
  async flush(connection: Statements, replaced: Readonly<Record<string, readonly string[]>> = {}): Promise<void> {
    for (const [table, rows] of this.#rows) {
      const columns = Object.keys(rows[0]!);
      const overwrite = replaced[table]?.map((name) => `${quoteName(name)} = VALUES(${quoteName(name)})`).join(', ');
      const sql = `INSERT INTO ${quoteName(table)} (${columns.map(quoteName).join(', ')}) VALUES ?${overwrite ? ` ON DUPLICATE KEY UPDATE ${overwrite}` : ''}`;
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
        const values = rows.slice(at, at + ROWS_PER_STATEMENT).map((row) => columns.map((name) => row[name] ?? null));
        await connection.query(sql, [values]);
      }
    }
    this.#rows.clear();
  }
}
