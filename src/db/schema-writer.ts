import { PlatformError } from '../errors.ts';
import type { DbType } from '../wire/database.ts';
import type { SchemaRecord, TypedTable } from '../wire/schema.ts';
import { classByName, classifyTables } from './classify.ts';
import { type Connection, databaseError, quoteName } from './connection.ts';
import { parseCreateTable } from './create-table-parser.ts';
import { printChanges, printFinish, printTable, type TableDdl } from './ddl.ts';
import { dependencyOrder, readTopology } from './topology.ts';

const UNSEEN: ReadonlySet<string> = new Set(['local', 'control']);

/** The tables of a source's schema that a replica keeps, parents first, with the statements that make them. */
export interface SchemaPlan {
  readonly tables: readonly { readonly table: TypedTable; readonly ddl: TableDdl }[];
  readonly fingerprint: string | null;
}

/**
 * Checks a source's schema and prints what makes it.
 *
 * @param only tables that a replica keeps; null: all
 * @throws {PlatformError} SCHEMA_REFUSED, SOURCE_INVALID
 */
export function planSchema(
  record: SchemaRecord,
  dbType: DbType,
  localTables: readonly string[],
  only: ReadonlySet<string> | null = null
): SchemaPlan {
  const typed = (record.typed as TypedTable[] | undefined) ?? parseTables(record, dbType, localTables);
  const plans = dependencyOrder(classifyTables(typed, dbType, localTables), typed);
  const byName = new Map(typed.map((table) => [table.name, table]));
  if (byName.size !== typed.length)
    throw new PlatformError('SOURCE_INVALID', { reason: 'a table comes twice in the schema' });
  const kept = plans.filter((plan) => !UNSEEN.has(plan.class) && (only === null || only.has(plan.name)));
  const tables = kept.map(({ name }) => {
    const table = withReferencesTo(only, byName.get(name)!);
    return { table, ddl: printTable(table) };
  });
  return { tables, fingerprint: record.fingerprint ?? null };
}

/** References to tables that the replica does not keep are left out. */
function withReferencesTo(only: ReadonlySet<string> | null, table: TypedTable): TypedTable {
  if (only === null) return table;
  return { ...table, foreignKeys: table.foreignKeys.filter(({ referencedTable }) => only.has(referencedTable)) };
}

/** The tables of a source that gives texts only; those that never travel may be anything. */
function parseTables({ tables }: SchemaRecord, dbType: DbType, localTables: readonly string[]): TypedTable[] {
  return Object.entries(tables)
    .filter(([name]) => !UNSEEN.has(classByName(name, dbType, localTables) ?? ''))
    .map(([name, text]) => parseCreateTable(name, text));
}

/** Makes tables anew and empty, without the keys that are cheaper when their rows are in. */
export async function recreateTables(connection: Connection, tables: SchemaPlan['tables']): Promise<void> {
  for (const { table } of [...tables].reverse())
    await connection.query(`DROP TABLE IF EXISTS ${quoteName(table.name)}`);
  for (const { table, ddl } of tables) await runDdl(connection, table.name, [ddl.create]);
}

/** Adds to a table that was just loaded the keys that were left out; what refers to other tables waits for `finishTables`. */
export async function addKeys(connection: Connection, { table }: SchemaPlan['tables'][number]): Promise<void> {
  await runDdl(connection, table.name, printFinish(table, { keys: [], foreignKeys: table.foreignKeys }));
}

/** Adds to loaded tables what they lack still: a writer may have died between a table's keys and its mark. */
export async function finishTables(connection: Connection, tables: SchemaPlan['tables']): Promise<void> {
  const own = new Map((await readTopology(connection)).tables.map((table) => [table.name, table]));
  for (const { table } of tables) {
    const made = own.get(table.name);
    if (made) await runDdl(connection, table.name, printFinish(table, made));
  }
}

/**
 * Brings the replica's tables to a newer schema, between groups: adds what is missing, drops nothing.
 *
 * @returns whether anything was missing
 */
export async function followSchema(connection: Connection, plan: SchemaPlan): Promise<boolean> {
  let changed = false;
  const own = new Map((await readTopology(connection)).tables.map((table) => [table.name, table]));
  for (const { table, ddl } of plan.tables) {
    const existing = own.get(table.name);
    const statements = existing ? printChanges(existing, table) : [ddl.create, ...ddl.afterLoad];
    await runDdl(connection, table.name, statements);
    changed ||= statements.length > 0;
  }
  return changed;
}

/** Syntax and limits that MariaDB itself refuses are the schema's fault; a lost connection is not. */
async function runDdl(connection: Connection, table: string, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    try {
      await connection.query(statement);
    } catch (caught) {
      const { sqlState, sqlMessage } = caught as { sqlState?: string; sqlMessage?: string };
      if (sqlState?.startsWith('42') || sqlState === 'HY000') {
        throw new PlatformError(
          'SCHEMA_REFUSED',
          { reason: `table ${table}: ${sqlMessage}`, table },
          { cause: caught }
        );
      }
      throw databaseError(caught, { table });
    }
  }
}
