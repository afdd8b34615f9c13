import { hasCode, PlatformError } from '../../errors.ts';
import type { DbType } from '../../wire/data/database.ts';
import { isTypedTable, type TypedTable } from '../../wire/data/schema.ts';
import { classByName, UNSEEN } from './classify.ts';
import { printTable } from './ddl.ts';

/** Tables that say which block a row belongs to: without one of them there is no replica. */
export const NEEDED_TABLES: ReadonlySet<string> = new Set(['blocks', 'transactions', 'actions']);

const MAX_REASON = 500;

/**
 * Finds the tables that no replica can make, with the reason: they are left out by name on both sides, and all others
 * travel.
 *
 * @param localTables those that do not travel in any case
 */
export function findUncarried(
  tables: readonly TypedTable[],
  dbType: DbType,
  localTables: readonly string[]
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const table of tables) {
    const { name } = table;
    if (NEEDED_TABLES.has(name) || UNSEEN.has(classByName(name, dbType, localTables) ?? '')) continue;
    const reason = whyUncarried(name, () => {
      if (!isTypedTable(table)) throw tooLarge(name);
      printTable(table);
    });
    if (reason !== null) found.set(name, reason);
  }
  return found;
}

/** @returns why a table cannot be made; null where it can, or where the replica cannot do without it: then that is thrown */
export function whyUncarried(name: string, make: () => void): string | null {
  try {
    make();
    return null;
  } catch (caught) {
    if (NEEDED_TABLES.has(name) || !hasCode(caught, 'SCHEMA_REFUSED')) throw caught;
    return String(caught.detail['reason']).slice(0, MAX_REASON);
  }
}

function tooLarge(table: string): PlatformError {
  const reason = `table ${table.slice(0, 64)}: it has more columns, keys or words than a table that is taken`;
  return new PlatformError('SCHEMA_REFUSED', { reason, table });
}
