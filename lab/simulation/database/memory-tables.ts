import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parseCreateTable } from '../../../src/replication/ddl/create-table-parser.ts';
import { position, sha256, word } from './checksums.ts';
import { printCreateTable, readCreateTable, translate } from './dialect.ts';

export type MemoryRow = Record<string, unknown>;
/** Result of a statement: rows, or how many it changed, which MariaDB words in `info`. */
export type MemoryResult = MemoryRow[] | { readonly affectedRows: number; readonly info?: string };

/** Tables of information_schema that hold the parts of CREATE TABLE. */
const INFORMATION = [
  'COLUMNS (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, GENERATION_EXPRESSION)',
  'TABLES (TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, UPDATE_TIME, CREATE_TIME, AUTO_INCREMENT, TABLE_COMMENT, CREATE_OPTIONS)',
  'STATISTICS (TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, COLLATION, SUB_PART, INDEX_TYPE, SEQ_IN_INDEX)',
  'CHECK_CONSTRAINTS (CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE)',
  'KEY_COLUMN_USAGE (CONSTRAINT_SCHEMA, TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME, REFERENCED_TABLE_SCHEMA, ORDINAL_POSITION)',
  'REFERENTIAL_CONSTRAINTS (CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE)',
  'SCHEMATA (SCHEMA_NAME)',
  'GLOBAL_STATUS (VARIABLE_NAME, VARIABLE_VALUE)',
  'GLOBAL_VARIABLES (VARIABLE_NAME, VARIABLE_VALUE)'
];
/** Statements that are kept prepared; most are sent once, with the values in them. */
const MAX_PREPARED = 200;

/** The tables of one database, their statements in MariaDB's words and run by SQLite. */
export class MemoryTables {
  readonly #database: string;
  readonly #now: () => string;
  readonly #sqlite = new DatabaseSync(':memory:');
  readonly #prepared = new Map<string, StatementSync>();

  /** @param now text of a DATETIME(6) */
  constructor(database: string, now: () => string) {
    this.#database = database;
    this.#now = now;
    const sqlite = this.#sqlite;
    sqlite.function('DATABASE', () => database);
    sqlite.function('UTC_TIMESTAMP', { varargs: true }, () => now());
    sqlite.function('SHA2', { deterministic: true }, (text) => sha256(String(text)));
    sqlite.function('ROW_HASH', { deterministic: true }, (text) => Buffer.from(sha256(String(text)), 'hex'));
    sqlite.function('POSITION_HEX', { deterministic: true }, (text, digits) =>
      sha256(String(text)).slice(0, Number(digits))
    );
    sqlite.function('CONV', { deterministic: true, varargs: true }, (digits) =>
      BigInt(Number.parseInt(String(digits), 16))
    );
    sqlite.function('UNIX_TIMESTAMP', { varargs: true }, () => null);
    sqlite.function('NOW', () => now());
    // A number of JavaScript is no integer to SQLite.
    sqlite.function('POSITION_OF', { deterministic: true }, (text) => BigInt(position(String(text))));
    // 64 bits without a sign are more than SQLite's own numbers hold.
    sqlite.function('WORD_OF', { deterministic: true }, (text) => String(word(String(text))));
    sqlite.aggregate('SUM_EXACTLY', {
      start: '0',
      step: (sum: string, value: unknown) => String(BigInt(sum) + BigInt(value as string))
    });
  }

  /** A database without tables. */
  static create(database: string, now: () => string): MemoryTables {
    const tables = new MemoryTables(database, now);
    for (const table of INFORMATION) tables.#sqlite.exec(`CREATE TABLE information_schema_${table}`);
    tables.#sqlite.exec(`INSERT INTO information_schema_SCHEMATA VALUES ('${database}')`);
    return tables;
  }

  /** Copies the present content, whatever becomes of it. There must be no transaction under way. */
  copy(): MemoryTables {
    const copy = new MemoryTables(this.#database, this.#now);
    copy.#sqlite.deserialize(this.#sqlite.serialize());
    return copy;
  }

  read<T = MemoryRow>(sql: string): T[] {
    return this.#prepare(sql).all().map(asDriverGives) as unknown as T[];
  }

  /** Everything but the beginnings and ends of transactions. */
  execute(sql: string): MemoryResult {
    const verb = /^\(?(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? '';
    if (verb === 'CREATE') return this.#createTable(sql);
    // What later versions of the marker add is in its CREATE TABLE.
    if (/^ALTER TABLE sync_state ADD COLUMN IF NOT EXISTS/.test(sql)) return { affectedRows: 0 };
    if (verb === 'SELECT') return this.read(sql);
    const affectedRows = Number(this.#prepare(sql).run().changes);
    return { affectedRows, info: `Rows matched: ${affectedRows}  Changed: ${affectedRows}  Warnings: 0` };
  }

  transact(verb: 'BEGIN' | 'COMMIT' | 'ROLLBACK'): void {
    this.#sqlite.exec(verb);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#prepared.get(sql);
    if (known) return known;
    if (this.#prepared.size >= MAX_PREPARED) this.#prepared.clear();
    const statement = this.#sqlite.prepare(translate(sql));
    this.#prepared.set(sql, statement);
    return statement;
  }

  /** Tables that travel are described as MariaDB prints them; of the sync-owned ones it is enough to know the columns. */
  #createTable(sql: string): MemoryResult {
    const parts = readCreateTable(sql);
    const { name } = parts;
    const known = this.read(`SELECT 1 FROM information_schema.TABLES WHERE TABLE_NAME = '${name}'`);
    if (known.length > 0) return { affectedRows: 0 };
    this.#sqlite.exec(printCreateTable(parts));
    const comment = /\bCOMMENT='([^']*)'/.exec(sql)?.[1] ?? '';
    this.#insert('TABLES', [this.#database, name, 'BASE TABLE', 'InnoDB', 0, null, this.#now(), null, comment, '']);
    const isPrinted = sql.startsWith('CREATE TABLE `');
    const { columns, keys } = isPrinted
      ? parseCreateTable(name, sql)
      : { columns: parts.columns.map(plainColumn), keys: [] };
    for (const [index, column] of columns.entries()) {
      const { type, nullable, default: standard, charset, collation, autoIncrement } = column;
      const [nulls, extra] = [nullable ? 'YES' : 'NO', autoIncrement ? 'auto_increment' : ''];
      const row = [column.name, index + 1, type, nulls, standard, charset, collation, extra, null];
      this.#insert('COLUMNS', [this.#database, name, ...row]);
    }
    for (const { name: key, unique, kind, columns: ofKey } of keys) {
      for (const [index, { name: column, prefix }] of ofKey.entries()) {
        const row = [key, unique ? 0 : 1, column, 'A', prefix, kind, index + 1];
        this.#insert('STATISTICS', [this.#database, name, ...row]);
      }
    }
    return { affectedRows: 0 };
  }

  #insert(table: string, values: readonly (string | number | null)[]): void {
    const places = values.map(() => '?').join(', ');
    this.#sqlite.prepare(`INSERT INTO information_schema_${table} VALUES (${places})`).run(...values);
  }
}

/** Bytes as a Buffer. */
const asDriverGives = (row: Record<string, unknown>): MemoryRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value instanceof Uint8Array ? Buffer.from(value) : value])
  );

const plainColumn = ({ name, type, isKey }: { name: string; type: string; isKey: boolean }) => ({
  name,
  type: type.toLowerCase(),
  nullable: false,
  default: null,
  charset: /char|text/i.test(type) ? 'utf8mb4' : null,
  collation: null,
  autoIncrement: isKey
});
