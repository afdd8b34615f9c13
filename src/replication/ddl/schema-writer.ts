import { type Connection, databaseError, quoteName, refusalOf, rows } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { DbType } from '../../wire/data/database.ts';
import type { SchemaRecord, TableClass, TypedTable } from '../../wire/data/schema.ts';
import { findUncarried, NEEDED_TABLES, whyUncarried } from '../tables/carried.ts';
import { classByName, classifyTables, UNSEEN } from '../tables/classify.ts';
import { printAdditions, printChanges, printFinish, printTable, type TableDdl } from '../tables/ddl.ts';
import { dependencyOrder, readMadeTables, readTopology } from '../tables/topology.ts';
import { parseCreateTable } from './create-table-parser.ts';
import { setAside } from './gone-tables.ts';

/** The tables of a source's schema that a replica keeps, parents first, with the statements that make them. */
export interface SchemaPlan {
  readonly tables: readonly { readonly table: TypedTable; readonly class: TableClass; readonly ddl: TableDdl }[];
  /** Null: the source gives definitions only. They name a table's columns, and do not say which columns are gone. */
  readonly fingerprint: string | null;
  /** Returns whether a table of this replica is one that its source has no more. */
  readonly isGone: (name: string) => boolean;
  /** Tables of the source that are left out, with the reason: they cannot be made here, or the source does not send them. */
  readonly notReplicated: ReadonlyMap<string, string>;
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
  const notReplicated = new Map(Object.entries(record.not_replicated ?? {}));
  const given = (record.typed as TypedTable[] | undefined) ?? parseTables(record, dbType, localTables, notReplicated);
  if (new Set(given.map(({ name }) => name)).size !== given.length)
    throw new PlatformError('SOURCE_INVALID', { reason: 'the schema names a table twice' });
  for (const [name, reason] of findUncarried(given, dbType, localTables)) notReplicated.set(name, reason);
  const typed = given.filter(({ name }) => !notReplicated.has(name));
  const plans = dependencyOrder(classifyTables(typed, dbType, localTables), typed);
  const byName = new Map(typed.map((table) => [table.name, table]));
  const kept = plans.filter((plan) => !UNSEEN.has(plan.class) && (only === null || only.has(plan.name)));
  const names = new Set(kept.map(({ name }) => name));
  const tables = kept.map(({ name, class: tableClass }) => {
    const table = withReferencesTo(names, byName.get(name)!);
    return { table, class: tableClass, ddl: printTable(table) };
  });
  const isUnseen = (name: string) => UNSEEN.has(classByName(name, dbType, localTables) ?? '');
  const isKnown = (name: string) => byName.has(name) || (record.fingerprint === undefined && !notReplicated.has(name));
  const isGone = (name: string) => only === null && !isKnown(name) && !isUnseen(name);
  return { tables, fingerprint: record.fingerprint ?? null, isGone, notReplicated };
}

/** References to tables that the replica does not keep are left out. */
function withReferencesTo(kept: ReadonlySet<string>, table: TypedTable): TypedTable {
  return { ...table, foreignKeys: table.foreignKeys.filter(({ referencedTable }) => kept.has(referencedTable)) };
}

/**
 * Parses the tables of a source that gives definitions only; tables that never travel are not checked.
 *
 * @param refused gets those that cannot be read, with the reason
 */
function parseTables(
  { tables }: SchemaRecord,
  dbType: DbType,
  localTables: readonly string[],
  refused: Map<string, string>
): TypedTable[] {
  const found: TypedTable[] = [];
  for (const [name, text] of Object.entries(tables)) {
    if (UNSEEN.has(classByName(name, dbType, localTables) ?? '')) continue;
    const reason = whyUncarried(name, () => void found.push(parseCreateTable(name, text)));
    if (reason !== null) refused.set(name, reason);
  }
  return found;
}

/** Creates tables again, empty, without the keys that are cheaper to add once the rows are in. */
export async function recreateTables(connection: Connection, tables: SchemaPlan['tables']): Promise<void> {
  await checkCase(connection, tables);
  for (const { table } of [...tables].reverse())
    await connection.query(`DROP TABLE IF EXISTS ${quoteName(table.name)}`);
  for (const { table, ddl } of tables) await runDdl(connection, table.name, [ddl.create]);
}

/** Adds to a table that was just loaded the keys that were left out; what refers to other tables waits for `finishTables`. */
export async function addKeys(connection: Connection, { table }: SchemaPlan['tables'][number]): Promise<void> {
  await runDdl(connection, table.name, printFinish(table, { keys: [], foreignKeys: table.foreignKeys }));
}

/** Adds missing keys to loaded tables: a writer may have died between adding the keys and marking the table. */
export async function finishTables(connection: Connection, tables: SchemaPlan['tables']): Promise<void> {
  const own = new Map((await readTopology(connection)).tables.map((table) => [table.name, table]));
  for (const { table } of tables) {
    const made = own.get(table.name);
    if (made) await runDdl(connection, table.name, printFinish(table, made));
  }
}

/** Change of one table of the replica. */
export interface TableChange {
  readonly table: string;
  /** The statements that change or make it; null: the source has it no more, and it is set aside. */
  readonly statements: readonly string[] | null;
  /** False for a table that is made. */
  readonly isHere: boolean;
}

/**
 * Returns the differences of a replica's tables from a newer schema; from a source that gives definitions only, the missing parts
 * alone.
 * @throws {PlatformError} SCHEMA_REFUSED, SOURCE_INVALID
 */
export async function findChanges(connection: Connection, plan: SchemaPlan): Promise<readonly TableChange[]> {
  await checkCase(connection, plan.tables);
  const print = plan.fingerprint === null ? printAdditions : printChanges;
  const own = new Map((await readTopology(connection)).tables.map((table) => [table.name, table]));
  const gone = (await readMadeTables(connection)).filter(plan.isGone);
  const needed = gone.find((name) => NEEDED_TABLES.has(name));
  if (needed !== undefined)
    throw new PlatformError('SOURCE_INVALID', { reason: `the source's schema lacks table ${needed}`, table: needed });
  const kept = plan.tables.map(({ table, ddl }) => {
    const here = own.get(table.name);
    const statements = here ? print(here, table) : [ddl.create, ...ddl.afterLoad];
    return { table: table.name, statements, isHere: here !== undefined };
  });
  return [
    ...gone.map((table) => ({ table, statements: null, isHere: true })),
    ...kept.filter(({ statements }) => statements.length > 0)
  ];
}

/**
 * Alters the replica's tables, between groups. Nothing is dropped: a table that went is renamed.
 *
 * Values that no message brings are those which this server gives to new or changed columns: a comparison must follow.
 *
 * @param height of the replica
 * @returns the new names of the tables that went
 * @throws {PlatformError} SCHEMA_REFUSED; ROW_CONTRADICTION when the rows that are here do not fit it
 */
export async function makeChanges(
  connection: Connection,
  changes: readonly TableChange[],
  height: number
): Promise<readonly string[]> {
  const aside: string[] = [];
  for (const { table, statements, isHere } of changes) {
    if (statements === null) aside.push(await setAside(connection, table, height));
    else await runDdl(connection, table, statements, isHere ? 'ROW_CONTRADICTION' : 'SCHEMA_REFUSED');
  }
  return aside;
}

/**
 * Refuses names with capitals on a server that keeps names in lower case: it would not find the tables by the names
 * that their rows come under.
 */
async function checkCase(connection: Connection, tables: SchemaPlan['tables']): Promise<void> {
  const [setting] = await rows<{ folds: number }>(connection, 'SELECT @@lower_case_table_names AS folds');
  const folded = tables.find(({ table: { name } }) => name !== name.toLowerCase())?.table.name;
  if (Number(setting?.folds) !== 1 || folded === undefined) return;
  const reason = `table ${folded}: the replica's server keeps names in lower case; use a server with lower_case_table_names=0`;
  throw new PlatformError('SCHEMA_REFUSED', { reason, table: folded });
}

/** Runs statements of a definition. A refusal by MariaDB is a fault of the schema or of the present rows; a lost connection is not. */
async function runDdl(
  connection: Connection,
  table: string,
  statements: readonly string[],
  refusal: 'SCHEMA_REFUSED' | 'ROW_CONTRADICTION' = 'SCHEMA_REFUSED'
): Promise<void> {
  for (const statement of statements) {
    try {
      await connection.query(statement);
    } catch (caught) {
      const words = refusalOf(caught);
      if (words === null) throw databaseError(caught, { table });
      throw new PlatformError(refusal, { reason: `table ${table}: ${words}`, table }, { cause: caught });
    }
  }
}
