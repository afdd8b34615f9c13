import type { DbType } from '../../wire/data/database.ts';
import type { TableClass, TypedColumn, TypedKey, TypedTable } from '../../wire/data/schema.ts';
import HINTS from './topology-hints.json' with { type: 'json' };

/** The columns that can tie a row to a block, in the order in which they are tried. */
const SCOPE_COLUMNS = ['block_index', 'tx_index', 'action_index'] as const;
type ScopeColumn = (typeof SCOPE_COLUMNS)[number];

/** For a scope that is not the block itself: the table that says which block it belongs to. */
const SCOPE_PARENT = { tx_index: 'transactions', action_index: 'actions' } as const;

/** Classes of tables whose rows never travel. */
export const UNSEEN: ReadonlySet<string> = new Set<TableClass>(['local', 'control']);

/** Begins the names of a replica's tables that its source had no more. */
export const GONE_PREFIX = '_gone_';

/** Plan by which one table is read, applied and compared. */
export interface TablePlan {
  readonly name: string;
  readonly class: TableClass;
  readonly columns: readonly TypedColumn[];
  /** Columns that a writer writes: all but the generated ones. */
  readonly storedColumns: readonly TypedColumn[];
  /** Scoped tables: the column, and the table to join for the block (null when the column is `block_index`). */
  readonly scope: { readonly column: ScopeColumn; readonly parent: string | null } | null;
  /** Columns that name a row: `id` of lookups, else a UNIQUE key without the surrogate; null, or NULL in one: the rest of the row does. */
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
  // What a local table says or refers to would be known on one side only.
  const referring = tables.filter(({ name }) => !UNSEEN.has(classByName(name, dbType, localTables) ?? ''));
  const byName = new Map(referring.map((table) => [table.name, table]));
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
      identity: tableClass === 'lookup' ? ['id'] : findIdentity(table, surrogate, tableClass === 'derived'),
      surrogate,
      engine: table.engine
    };
  });
}

/** Returns the class that a table's name alone decides; null where its columns do. */
export function classByName(name: string, dbType: DbType, localTables: readonly string[]): TableClass | null {
  const hint = HINTS.find((row) => row.table === name && (row.dbType === undefined || row.dbType === dbType));
  if (hint?.class !== undefined) return hint.class as TableClass;
  const isOwn = name.startsWith('sync_') || name.startsWith(GONE_PREFIX);
  return isOwn || localTables.includes(name) ? 'local' : null;
}

function findClass(table: TypedTable, dbType: DbType, hasScope: boolean, localTables: readonly string[]): TableClass {
  const named = classByName(table.name, dbType, localTables);
  if (named) return named;
  if (table.name.startsWith('index_') && table.columns.some((column) => column.name === 'id' && column.autoIncrement))
    return 'lookup';
  return hasScope ? 'scoped' : 'mutable';
}

/**
 * Returns the column that ties a table's rows to their blocks.
 *
 * A NOT NULL column comes before one that may be NULL, because an action's nullable `block_index` may be another chain's height.
 * Among those, `block_index` is taken unless only another one has an index. An indexed `block_index` that may be NULL is better
 * than none: definitions in use allow NULL where no row of a block has it.
 */
function findScope(table: TypedTable, byName: ReadonlyMap<string, TypedTable>): TablePlan['scope'] {
  const scopes = SCOPE_COLUMNS.filter((column) => hasNumber(table, column)).flatMap((column) =>
    scopeBy(column, table, byName)
  );
  const required = scopes.filter(({ column }) =>
    table.columns.some(({ name, nullable }) => name === column && !nullable)
  );
  const isIndexed = ({ column }: { readonly column: string }) =>
    table.keys.some(({ kind, columns }) => kind === 'BTREE' && columns[0]?.name === column);
  const nullable = scopes.find((scope) => scope.column === 'block_index' && isIndexed(scope));
  return required.find(isIndexed) ?? required[0] ?? nullable ?? null;
}

/** Returns the scope by one column; none where the table that would say the block cannot. */
function scopeBy(
  column: ScopeColumn,
  { name: own }: TypedTable,
  byName: ReadonlyMap<string, TypedTable>
): NonNullable<TablePlan['scope']>[] {
  if (column === 'block_index') return [{ column, parent: null }];
  const parent = SCOPE_PARENT[column];
  const parentTable = byName.get(parent);
  const hasBlock = parentTable !== undefined && hasNumber(parentTable, 'block_index') && hasNumber(parentTable, column);
  return hasBlock && parent !== own ? [{ column, parent }] : [];
}

/** Returns whether a column is an integer, as heights and counters are; one of another type ties nothing to a block, whatever its name. */
function hasNumber({ columns }: TypedTable, column: string): boolean {
  return columns.some(({ name, type }) => name === column && /int/i.test(type));
}

/** Finds the surrogate. Scope columns and columns that other tables refer to carry meaning, so they are none. */
function findSurrogate(table: TypedTable, referenced: ReadonlySet<string>): string | null {
  const column = table.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  if (column === undefined || (SCOPE_COLUMNS as readonly string[]).includes(column)) return null;
  return referenced.has(`${table.name}.${column}`) ? null : column;
}

/** @param nullable accepts, where there is no better one, a key whose columns may be NULL: it names the rows without NULL */
function findIdentity(table: TypedTable, surrogate: string | null, nullable: boolean): readonly string[] | null {
  const usable = new Map(
    table.columns.filter(({ generated }) => generated === null).map(({ name, nullable }) => [name, nullable])
  );
  const mayBeNull = (key: TypedKey) => key.columns.some(({ name }) => usable.get(name) === true);
  const keys = table.keys
    .filter(
      (key) =>
        key.unique &&
        (nullable || !mayBeNull(key)) &&
        key.columns.every(({ name, prefix }) => usable.has(name) && prefix === null && name !== surrogate)
    )
    .sort(
      (a, b) =>
        Number(mayBeNull(a)) - Number(mayBeNull(b)) ||
        Number(b.name === 'PRIMARY') - Number(a.name === 'PRIMARY') ||
        (a.name < b.name ? -1 : 1)
    );
  return keys[0]?.columns.map(({ name }) => name) ?? null;
}

/** Returns the columns that digests and comparisons cover: all but generated ones and the surrogate. */
export function comparedColumns(plan: TablePlan): readonly TypedColumn[] {
  return plan.storedColumns.filter(({ name }) => name !== plan.surrogate);
}
