import { quoteName, rows, type SqlRow, type Statements } from '../../../db/connection.ts';
import { FINDER_KEY } from '../../../db/keys.ts';
import { contentSlotSql, wordSql } from '../../../db/row-codec.ts';
import type { TypedTable } from '../../../wire/data/schema.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { type Checksum, together, type Value } from './checksum-map.ts';
import { HIGHEST, LOWEST, type Span } from './spans.ts';

/** The column that divides a table's rows, so that a part of them can be read and sent. */
export interface Ranging {
  /** An integer column; null: slots 0 to 4095, the first 12 bits of a row's hash. */
  readonly column: string | null;
  /** A value names one row at most. */
  readonly isUnique: boolean;
  /** Parts are found by an index; without one, every look goes through the whole table. */
  readonly isIndexed: boolean;
  /** The column may be NULL. */
  readonly isNullable: boolean;
}

const INTEGER = /^(tiny|small|medium|big)?int\b/i;
/** Lookup tables are divided by the id that other rows refer to. */
export const BY_ID: Ranging = { column: 'id', isUnique: true, isIndexed: true, isNullable: false };
const SLOTS: Ranging = { column: null, isUnique: false, isIndexed: false, isNullable: false };

/**
 * Chooses how a table is divided: scoped ones by their scope, others by an integer key, and those without one by the
 * hash of their rows.
 */
export function rangingOf(plan: TablePlan, tables: readonly TypedTable[]): Ranging {
  if (plan.class === 'lookup') return BY_ID;
  const keys = tables.find(({ name }) => name === plan.name)?.keys ?? [];
  const columnOf = (name: string) => plan.columns.find((column) => column.name === name);
  const isInteger = (name: string) => INTEGER.test(columnOf(name)?.type ?? '');
  const isUnique = (name: string) =>
    keys.some((key) => key.unique && key.columns.length === 1 && key.columns[0]!.name === name);
  const by = (column: string): Ranging => ({
    column,
    isUnique: isUnique(column) && columnOf(column)?.nullable === false,
    isIndexed: keys.some((key) => key.kind === 'BTREE' && key.columns[0]?.name === column),
    isNullable: columnOf(column)?.nullable === true
  });
  if (plan.scope) return isInteger(plan.scope.column) ? by(plan.scope.column) : SLOTS;
  const primary = keys.filter(({ name }) => name === 'PRIMARY');
  const single = [...primary, ...keys].flatMap(({ columns }) => (columns.length === 1 ? [columns[0]!.name] : []));
  const counter = plan.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  const name = single.find((column) => isInteger(column) && by(column).isUnique) ?? counter;
  return name === undefined ? SLOTS : by(name);
}

/** Returns SQL for the value of a row (alias `r`). */
export function valueSql({ column }: Ranging, plan: TablePlan): string {
  if (column !== null) return `r.${quoteName(column)}`;
  return contentSlotSql(plan.storedColumns, 'r');
}

/** Returns SQL for a row's checksum word: it covers all stored columns, ids included. */
export function finderWordSql(plan: TablePlan): string {
  return wordSql(FINDER_KEY, plan.storedColumns, 'r');
}

/** Returns SQL for a row (alias `r`) to lie in one of the spans. */
export function inSpansSql(ranging: Ranging, plan: TablePlan, spans: readonly Span[]): string {
  const value = `(${valueSql(ranging, plan)})`;
  const parts = spans.map((span) => {
    if (span === null) return `${value} IS NULL`;
    const [from, to] = span;
    if (from <= LOWEST && to >= HIGHEST) return `${value} IS NOT NULL`;
    if (from <= LOWEST) return `${value} <= ${to}`;
    return to >= HIGHEST ? `${value} >= ${from}` : `${value} BETWEEN ${from} AND ${to}`;
  });
  return parts.length === 0 ? 'FALSE' : `(${parts.join(' OR ')})`;
}

/** Returns a value as read, or an id; one beyond the safe integers counts as the largest of them. */
export function toValue(read: null): null;
export function toValue(read: string | number | bigint): number;
export function toValue(read: unknown): Value;
export function toValue(read: unknown): Value {
  return read === null ? null : Math.max(LOWEST, Math.min(HIGHEST, Number(read)));
}

/** Returns the checksum word of a row as read. */
export function toChecksum(rowCount: number, sum: unknown): Checksum {
  return { rows: rowCount, sum: BigInt.asUintN(64, BigInt(String(sum ?? 0))) };
}

/** Reads the checksum of all rows in some spans together, or of the whole table: one row where `readChecksums` gives many. */
export async function readTotal(
  statements: Statements,
  plan: TablePlan,
  ranging: Ranging,
  spans: readonly Span[] | null
): Promise<Checksum> {
  const where = spans === null ? 'TRUE' : inSpansSql(ranging, plan, spans);
  const sql = `SELECT SUM(${finderWordSql(plan)}) AS s, COUNT(*) AS n FROM ${quoteName(plan.name)} r WHERE ${where}`;
  const [row] = await rows(statements, sql);
  return toChecksum(Number(row?.['n'] ?? 0), row?.['s']);
}

/** Checksums by value of the rows in some spans, or in the whole table. A table may have a column of any name, also of an alias here. */
export async function readChecksums(
  statements: Statements,
  plan: TablePlan,
  ranging: Ranging,
  spans: readonly Span[] | null
): Promise<Map<Value, Checksum>> {
  const where = spans === null ? 'TRUE' : inSpansSql(ranging, plan, spans);
  const list = `${valueSql(ranging, plan)} AS v, ${finderWordSql(plan)}`;
  const from = `FROM ${quoteName(plan.name)} r WHERE ${where}`;
  const sql = ranging.isUnique
    ? `SELECT ${list} AS s, 1 AS n ${from}`
    : `SELECT ${valueSql(ranging, plan)} AS v, SUM(${finderWordSql(plan)}) AS s, COUNT(*) AS n ${from} GROUP BY 1`;
  const found = new Map<Value, Checksum>();
  for (const row of await rows(statements, sql)) add(found, row);
  return found;
}

/** Returns SQL for the value of a row, one beyond the safe integers as the largest of them. */
function boundedSql(ranging: Ranging, plan: TablePlan): string {
  return `LEAST(GREATEST(CAST(${valueSql(ranging, plan)} AS DECIMAL(20)), ${LOWEST}), ${HIGHEST})`;
}

/** Checksums of `width` values each, by the number of the range: a value divided by the width. */
export async function readRangeChecksums(
  statements: Statements,
  plan: TablePlan,
  ranging: Ranging,
  [from, to]: readonly [number, number],
  width: number
): Promise<Map<number, Checksum>> {
  const found = new Map<Value, Checksum>();
  const sql = `SELECT FLOOR(${boundedSql(ranging, plan)} / ${width}) AS v, SUM(${finderWordSql(plan)}) AS s, COUNT(*) AS n
    FROM ${quoteName(plan.name)} r WHERE ${inSpansSql(ranging, plan, [[from, to]])} GROUP BY 1`;
  for (const row of await rows(statements, sql)) add(found, row);
  return found as Map<number, Checksum>;
}

function add(found: Map<Value, Checksum>, row: SqlRow): void {
  const value = toValue(row['v']);
  const checksum = toChecksum(Number(row['n']), row['s']);
  const known = found.get(value);
  found.set(value, known ? together(known, checksum) : checksum);
}
