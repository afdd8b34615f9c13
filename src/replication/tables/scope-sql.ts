import { quoteName } from '../../db/connection.ts';
import type { TypedTable } from '../../wire/data/schema.ts';
import type { TablePlan } from './classify.ts';

/** SQL for a scoped table's rows (alias `r`) and their block. */
interface ScopeSql {
  readonly from: string;
  /** SQL expression of the row's block. */
  readonly block: string;
}

/**
 * Returns SQL for the rows of a table; one without a `block_index` is joined to the table that has it.
 *
 * @param orphans keeps rows without a block, and rows whose parent is not there; their block is -1
 */
export function scopeSql({ name, scope }: TablePlan, tables: readonly TypedTable[], orphans = false): ScopeSql {
  const table = `${quoteName(name)} r`;
  if (!scope?.parent) return { from: table, block: orphans ? 'COALESCE(r.block_index, -1)' : 'r.block_index' };
  const { column, parent } = scope;
  const unique = tables
    .find((candidate) => candidate.name === parent)
    ?.keys.some((key) => key.unique && key.columns.length === 1 && key.columns[0]?.name === column);
  const owner = unique ? quoteName(parent) : `(SELECT DISTINCT ${column}, block_index FROM ${quoteName(parent)})`;
  const match = `r.${column} = p.${column}`;
  if (orphans) return { from: `${table} LEFT JOIN ${owner} p ON ${match}`, block: 'COALESCE(p.block_index, -1)' };
  return { from: `${owner} p JOIN ${table} ON ${match}`, block: 'p.block_index' };
}

/** Returns the ORDER BY list of a table's own order: its AUTO_INCREMENT column, else its primary key, else nothing. */
export function rowOrder({ name, columns }: TablePlan, tables: readonly TypedTable[], alias = 'r'): string {
  const counter = columns.find(({ autoIncrement }) => autoIncrement)?.name;
  const primary = tables
    .find((table) => table.name === name)
    ?.keys.find((key) => key.name === 'PRIMARY')
    ?.columns.map((column) => column.name);
  return (counter === undefined ? (primary ?? []) : [counter])
    .map((column) => `${alias}.${quoteName(column)}`)
    .join(', ');
}
