import type { DbType } from '../wire/database.ts';
import type { TableClass, TypedColumn, TypedTable } from '../wire/schema.ts';
import HINTS from './topology-hints.json' with { type: 'json' };

/** The columns that can tie a row to a block, in the order in which they are tried. */
const SCOPE_COLUMNS = ['block_index', 'tx_index', 'action_index'] as const;
export type ScopeColumn = (typeof SCOPE_COLUMNS)[number];

/** For a scope that is not the block itself: the table that says which block it belongs to. */
const SCOPE_PARENT = { tx_index: 'transactions', action_index: 'actions' } as const;

/** Classes of tables whose rows never travel. */
export const UNSEEN: ReadonlySet<string> = new Set<TableClass>(['local', 'control']);

/** How one table is read, applied and compared. */
export interface TablePlan {
  readonly name: string;
  readonly class: TableClass;
  readonly columns: readonly TypedColumn[];
  /** Columns that a writer writes: all but the generated ones. */
  readonly storedColumns: readonly TypedColumn[];
  /** Scoped tables: the column, and the table to join for the block (null when the column is `block_index`). */
  readonly scope: { readonly column: ScopeColumn; readonly parent: string | null } | null;
  /** Columns that name a row: `id` of lookups, else a UNIQUE key without the surrogate; null: the whole row without it. */
  readonly identity: readonly string[] | null;
  /** AUTO_INCREMENT column whose values are the replica's own after the bootstrap; null where there is none. */
  readonly surrogate: string | null;
  readonly engine: string;
}

/**
 * Decides how every table of a database replicates.
 *
 * First match wins: hints, sync-owned and node-local tables, lookups, scoped by block, mutable by content.
 *
 * @param localTables further names that never travel (SYNC_LOCAL_TABLES)
 * @returns one plan per table, in the order given
 */
export function classifyTables(
  tables: readonly TypedTable[],
  dbType: DbType,
  localTables: readonly string[] = []
): TablePlan[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  // What a local table refers to would be known on one side only.
  const referring = tables.filter(({ name }) => !UNSEEN.has(classByName(name, dbType, localTables) ?? ''));
  const referenced = new Set(
    referring.flatMap((table) =>
      table.foreignKeys.flatMap((key) => key.referencedColumns.map((column) => `${key.referencedTable}.${column}`))
    )
  );
  return tables.map((table) => {
    const scope = findScope(table, byName);
    const tableClass = findClass(table, dbType, scope !== null, localTables);
    const surrogate = tableClass === 'lookup' ? null : findSurrogate(table, referenced);
    return {
      name: table.name,
      class: tableClass,
      columns: table.columns,
      storedColumns: table.columns.filter((column) => column.generated === null),
      scope: tableClass === 'scoped' ? scope : null,
      identity: tableClass === 'lookup' ? ['id'] : findIdentity(table, surrogate),
      surrogate,
      engine: table.engine
    };
  });
}

/** The class that a table's name alone decides; null where its columns do. */
export function classByName(name: string, dbType: DbType, localTables: readonly string[]): TableClass | null {
  const hint = HINTS.find((row) => row.table === name && (row.dbType === undefined || row.dbType === dbType));
  if (hint) return hint.class as TableClass;
  return name.startsWith('sync_') || localTables.includes(name) ? 'local' : null;
}

function findClass(table: TypedTable, dbType: DbType, hasScope: boolean, localTables: readonly string[]): TableClass {
  const named = classByName(table.name, dbType, localTables);
  if (named) return named;
  if (table.name.startsWith('index_') && table.columns.some((column) => column.name === 'id' && column.autoIncrement))
    return 'lookup';
  return hasScope ? 'scoped' : 'mutable';
}

/** The column that would say the block of a table's rows where the parent that says it is not kept; else null. */
export function strayScope({ scope, columns }: TablePlan): ScopeColumn | null {
  if (scope) return null;
  return SCOPE_COLUMNS.find((column) => columns.some(({ name, nullable }) => name === column && !nullable)) ?? null;
}

/** A column that may be NULL is no scope, nor is one whose parent table cannot say the block. */
function findScope(table: TypedTable, byName: ReadonlyMap<string, TypedTable>): TablePlan['scope'] {
  for (const column of SCOPE_COLUMNS) {
    if (!table.columns.some(({ name, nullable }) => name === column && !nullable)) continue;
    if (column === 'block_index') return { column, parent: null };
    const parent = SCOPE_PARENT[column];
    const parentHasBlock = byName
      .get(parent)
      ?.columns.some(({ name, nullable }) => name === 'block_index' && !nullable);
    if (parentHasBlock && parent !== table.name) return { column, parent };
  }
  return null;
}

/** Scope columns and columns that other tables refer to carry meaning, so they are no surrogates. */
function findSurrogate(table: TypedTable, referenced: ReadonlySet<string>): string | null {
  const column = table.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  if (column === undefined || (SCOPE_COLUMNS as readonly string[]).includes(column)) return null;
  return referenced.has(`${table.name}.${column}`) ? null : column;
}

function findIdentity(table: TypedTable, surrogate: string | null): readonly string[] | null {
  const required = new Set(
    table.columns.filter(({ nullable, generated }) => !nullable && generated === null).map(({ name }) => name)
  );
  const usable = table.keys
    .filter(
      (key) =>
        key.unique &&
        key.columns.every(({ name, prefix }) => required.has(name) && prefix === null && name !== surrogate)
    )
    .sort((a, b) => Number(b.name === 'PRIMARY') - Number(a.name === 'PRIMARY') || (a.name < b.name ? -1 : 1));
  return usable[0]?.columns.map(({ name }) => name) ?? null;
}

/** The columns that digests and comparisons cover: all but generated ones and the surrogate. */
export function comparedColumns(plan: TablePlan): readonly TypedColumn[] {
  return plan.storedColumns.filter(({ name }) => name !== plan.surrogate);
}
