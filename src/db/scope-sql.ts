import type { TypedTable } from '../wire/schema.ts';
import { comparedColumns, type TablePlan } from './classify.ts';
import { type Connection, quoteName, rows, type SqlRow } from './connection.ts';
import { rowHashSql, selectList, toWireRows } from './row-codec.ts';

/** Where a scoped table's rows (alias `r`) and their block are found. */
export interface ScopeSql {
  readonly from: string;
  /** SQL expression of the row's block. */
  readonly block: string;
}

/**
 * Rows of tables without a `block_index` are joined to the table that has it.
 *
 * @param orphans keeps rows whose parent is not there; their block is -1
 */
export function scopeSql({ name, scope }: TablePlan, tables: readonly TypedTable[], orphans = false): ScopeSql {
  const table = `${quoteName(name)} r`;
  if (!scope?.parent) return { from: table, block: 'r.block_index' };
  const { column, parent } = scope;
  const unique = tables
    .find((candidate) => candidate.name === parent)
    ?.keys.some((key) => key.unique && key.columns.length === 1 && key.columns[0]?.name === column);
  const owner = unique ? quoteName(parent) : `(SELECT DISTINCT ${column}, block_index FROM ${quoteName(parent)})`;
  const match = `r.${column} = p.${column}`;
  if (orphans) return { from: `${table} LEFT JOIN ${owner} p ON ${match}`, block: 'COALESCE(p.block_index, -1)' };
  return { from: `${owner} p JOIN ${table} ON ${match}`, block: 'p.block_index' };
}

/** ORDER BY list of a table's own order: its AUTO_INCREMENT column, else its primary key, else nothing. */
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

/** Alias under which a joined row says its block; never sent, and of another form than the names that are. */
const BLOCK_ALIAS = '#block';

/** The rows of a scoped table in blocks `from` to `to`, in wire form, by block. */
export async function readScopedRows(
  connection: Connection,
  plan: TablePlan,
  tables: readonly TypedTable[],
  from: number,
  to: number
): Promise<Map<number, SqlRow[]>> {
  const source = scopeSql(plan, tables);
  const order = [source.block, rowOrder(plan, tables)].filter(Boolean).join(', ');
  const found = await rows(
    connection,
    `SELECT ${selectList(plan.columns, 'r')}, ${source.block} AS ${quoteName(BLOCK_ALIAS)} FROM ${source.from} WHERE ${source.block} BETWEEN ? AND ? ORDER BY ${order}`,
    [from, to]
  );
  const byBlock = new Map<number, SqlRow[]>();
  for (const row of toWireRows(found, plan.columns)) {
    const height = Number(row[BLOCK_ALIAS]);
    row[BLOCK_ALIAS] = undefined; // JSON leaves it out; `delete` would slow the object down
    const ofBlock = byBlock.get(height);
    if (ofBlock) ofBlock.push(row);
    else byBlock.set(height, [row]);
  }
  return byBlock;
}

/** Row count and order-independent digest of some rows, as one text; equal texts mean equal rows. */
export type Figure = string;

/** The figure of no rows. */
export const EMPTY_FIGURE: Figure = '0';

/**
 * SQL for a figure. The sum of squares stands beside the sum because CRC-32 is linear: two rows that swap a value would
 * leave too many sums as they were.
 */
function figureSql(plan: TablePlan, alias: string): { readonly hash: string; readonly list: string } {
  const columns = comparedColumns(plan);
  const hash = columns.length === 0 ? '0' : rowHashSql(columns, alias);
  return { hash, list: 'COUNT(*) AS row_count, SUM(c) AS row_sum, SUM(c * c) AS row_squares' };
}

function figureOf(row: SqlRow | undefined): Figure {
  const count = Number(row?.['row_count'] ?? 0);
  return count === 0 ? EMPTY_FIGURE : `${count}:${row?.['row_sum']}:${row?.['row_squares']}`;
}

/** How many rows a figure stands for. */
export function figureCount(figure: Figure): number {
  return Number(figure.split(':', 1)[0]);
}

/** Figures of a scoped table's blocks `from` to `to`; blocks without rows are left out. */
export async function readFigures(
  connection: Connection,
  plan: TablePlan,
  tables: readonly TypedTable[],
  from: number,
  to: number
): Promise<Map<number, Figure>> {
  const source = scopeSql(plan, tables);
  const { hash, list } = figureSql(plan, 'r');
  const found = await rows(
    connection,
    `SELECT h AS height, ${list} FROM (SELECT ${source.block} AS h, ${hash} AS c FROM ${source.from} WHERE ${source.block} BETWEEN ? AND ?) f GROUP BY h`,
    [from, to]
  );
  return new Map(found.map((row) => [Number(row['height']), figureOf(row)]));
}

/** The figure of a whole table, or of the rows that a condition on alias `r` selects. */
export async function readTableFigure(
  connection: Connection,
  plan: TablePlan,
  where = 'TRUE',
  values: readonly unknown[] = []
): Promise<Figure> {
  const { hash, list } = figureSql(plan, 'r');
  const [row] = await rows(
    connection,
    `SELECT ${list} FROM (SELECT ${hash} AS c FROM ${quoteName(plan.name)} r WHERE ${where}) f`,
    values
  );
  return figureOf(row);
}
