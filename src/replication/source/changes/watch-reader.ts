import { type Connection, quoteName, rows, type Statements } from '../../../db/connection.ts';
import type { TablePlan } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { isSame, NO_ROWS } from './checksum-map.ts';
import { type Ranging, readChecksums, readRangeChecksums, toValue, valueSql } from './ranging.ts';
import { HIGHEST, LOWEST, type Span } from './spans.ts';
import type { TableFacts } from './table-facts.ts';
import { RANGE_WIDTH, START_ROWS, TableWatch, WINDOW_ROWS } from './table-watch.ts';

/** Returns whether a table's changes are found by content. */
export function isWatched({ class: tableClass }: TablePlan): boolean {
  return tableClass === 'scoped' || tableClass === 'lookup' || tableClass === 'mutable' || tableClass === 'derived';
}

/** By scope column, the lowest value that a block above some height has; absent where there is none. */
export type Bounds = Readonly<Record<string, number>>;

/** Returns the bounds of the rows of the blocks above a height. */
export async function readBounds(connection: Connection, { plans }: SourceLayout, height: number): Promise<Bounds> {
  const bounds: Record<string, number> = { block_index: height + 1 };
  for (const { scope } of plans) {
    if (!scope?.parent || scope.column in bounds) continue;
    const [row] = await rows(
      connection,
      `SELECT MIN(${quoteName(scope.column)}) AS v FROM ${quoteName(scope.parent)} WHERE block_index > ?`,
      [height]
    );
    if (row?.['v'] != null) bounds[scope.column] = toValue(row['v'])!;
  }
  return bounds;
}

/**
 * Reads a table as it stands: all of it, or of a large one its newest rows, without those of later blocks.
 *
 * @param from undefined: as its size asks for
 */
export async function readWatch(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan,
  facts: ReadonlyMap<string, TableFacts>,
  bounds: Bounds,
  from?: number | null
): Promise<TableWatch> {
  const count = facts.get(plan.name)?.rows ?? 0;
  const probe = new TableWatch(plan, layout.tables, LOWEST, count);
  const { ranging } = probe;
  const isLarge = ranging.isIndexed && count > START_ROWS;
  const start =
    from === undefined ? (isLarge ? await windowStart(connection, plan, ranging) : LOWEST) : (from ?? LOWEST);
  const watch = start === LOWEST ? probe : new TableWatch(plan, layout.tables, start, count);
  const above = ranging.column === null || !plan.scope ? undefined : bounds[plan.scope.column];
  const spans: Span[] = [[start, above === undefined ? HIGHEST : above - 1], ...(ranging.isNullable ? [null] : [])];
  const isAll = start === LOWEST && above === undefined;
  const now = await readChecksums(connection, plan, ranging, isAll ? null : spans);
  for (const [value, checksum] of now) watch.fine.set(value, checksum);
  watch.lastId = await readLastId(connection, plan);
  watch.times = facts.get(plan.name);
  watch.trim();
  return watch;
}

/** Returns the value at which the newest rows of a table begin. */
export async function windowStart(connection: Connection, plan: TablePlan, ranging: Ranging): Promise<number> {
  const value = valueSql(ranging, plan);
  const [row] = await rows(
    connection,
    `SELECT ${value} AS v FROM ${quoteName(plan.name)} r WHERE ${value} IS NOT NULL ORDER BY ${value} DESC LIMIT 1 OFFSET ${WINDOW_ROWS}`
  );
  const found = row ? toValue(row['v']) : null;
  return found === null ? LOWEST : Math.floor(found / RANGE_WIDTH) * RANGE_WIDTH;
}

/** Reads the highest value of the table's AUTO_INCREMENT column, at most the largest safe integer; 0 where there is none. */
export async function readLastId(connection: Statements, plan: TablePlan): Promise<number> {
  const counter = plan.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  if (counter === undefined) return 0;
  const [row] = await rows(connection, `SELECT MAX(${quoteName(counter)}) AS id FROM ${quoteName(plan.name)}`);
  return toValue(row?.['id'] ?? 0)!;
}

/** Returns whether a table's rows are those that its watch knows. Call it inside a snapshot. */
export async function holdsRows(connection: Connection, plan: TablePlan, watch: TableWatch): Promise<boolean> {
  if (watch.pending.length > 0) return false;
  const { from, rangesFrom, ranging } = watch;
  const spans: Span[] = [[from, HIGHEST], ...(ranging.isNullable ? [null] : [])];
  const now = await readChecksums(connection, plan, ranging, from === LOWEST ? null : spans);
  if (watch.changed(spans, now).size > 0) return false;
  if (from === LOWEST || rangesFrom >= from) return true;
  const ranges = await readRangeChecksums(connection, plan, ranging, [rangesFrom, from - 1], RANGE_WIDTH);
  const numbers = new Set([...ranges.keys(), ...watch.rangesWithin(rangesFrom, from - 1)]);
  return [...numbers].every((range) => {
    const known = watch.rangeOf(range);
    return known === undefined || isSame(known, ranges.get(range) ?? NO_ROWS);
  });
}
