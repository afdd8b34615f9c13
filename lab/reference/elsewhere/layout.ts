import { type Connection, rows } from '../../../src/db/connection.ts';
import { PlatformError } from '../../../src/errors.ts';
import type { DbType } from '../../../src/wire/data/database.ts';
import { NEEDED } from './facts.ts';

/** Columns that a database has. */
export interface Layout {
  readonly dbType: DbType;
  /** Types by `table.column`, as `bigint(20) unsigned`. */
  readonly columns: ReadonlyMap<string, string>;
  /** Whether each `column` or `table.column` is there. */
  has(table: string, ...columns: readonly string[]): boolean;
}

/**
 * Reads the columns of a database, and takes it for a decoder's where it has outputs of transactions and no actions.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE naming each table and column that it lacks and every check needs
 */
export async function readLayout(connection: Connection): Promise<Layout> {
  const found = await rows<{ name: string; type: string }>(
    connection,
    `SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME) AS name, COLUMN_TYPE AS type FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION`
  );
  const columns = new Map(found.map(({ name, type }) => [name, type]));
  const tables = new Set(found.map(({ name }) => name.split('.')[0]));
  const dbType = tables.has('transaction_outputs') && !tables.has('actions') ? 'decoder' : 'indexer';
  const lacking = Object.entries(NEEDED[dbType]).flatMap(([table, needed]) =>
    tables.has(table)
      ? needed.split(' ').flatMap((column) => (columns.has(`${table}.${column}`) ? [] : [`column ${table}.${column}`]))
      : [`table ${table}`]
  );
  if (lacking.length > 0) {
    const reason = `this is no database of a compatible ${dbType}: it lacks ${lacking.join(', ')}`;
    throw new PlatformError('DATABASE_UNUSABLE', { reason });
  }
  const has = (table: string, ...names: readonly string[]) => names.every((name) => columns.has(`${table}.${name}`));
  return { dbType, columns, has };
}
