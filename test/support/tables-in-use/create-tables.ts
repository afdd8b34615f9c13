import type { Statements } from '../../../src/db/connection.ts';
import { TABLES_IN_USE, type TableDefinition } from '../../../src/indexer/definitions/definition.ts';
import { createStatement } from '../../../src/indexer/definitions/statement.ts';
import type { DbType } from '../../../src/wire/data/database.ts';
import { asMyIsam, asOld } from './ages.ts';

/** Variant of the definitions of a database. */
export interface TableOptions {
  readonly dbType: DbType;
  /** `old`: as databases of before mid-2026 that were never reindexed. Default `new`. */
  readonly age?: 'new' | 'old';
  /** Tables whose keys MyISAM can hold are MyISAM. */
  readonly myisam?: boolean;
}

/** The definitions of one variant, by name, in an order in which they can be made. */
export function definitionsOf({ dbType, age = 'new', myisam = false }: TableOptions): Map<string, TableDefinition> {
  const tables = [...TABLES_IN_USE[dbType]].map(([name, table]) => {
    const aged = age === 'old' ? asOld(name, table) : table;
    return [name, myisam ? asMyIsam(aged) : aged] as const;
  });
  return new Map(tables);
}

/** Makes all tables of a database but those that a sync service made there before. @returns their definitions */
export async function createTables(
  connection: Statements,
  options: TableOptions
): Promise<Map<string, TableDefinition>> {
  const tables = definitionsOf(options);
  for (const [name, table] of tables) await connection.query(createStatement(name, table, { ifMissing: true }));
  return tables;
}
