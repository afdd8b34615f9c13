import { quoteName, rows, type SqlRow, type Statements } from '../../../db/connection.ts';
import { wireRows } from '../../../db/wire-rows.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { rowOrder, scopeSql } from '../../tables/scope-sql.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { type Checksum, NO_ROWS, together, type Value } from './checksum-map.ts';
import { finderWordSql, inSpansSql, type Ranging, toChecksum, toValue, valueSql } from './ranging.ts';
import { mergeSpans, type Span } from './spans.ts';

/** Aliases of a form that no column's name can have. */
const BLOCK_ALIAS = '#block';
const VALUE_ALIAS = '#value';
const WORD_ALIAS = '#word';

/** Spans of one condition; more are joined to the one from the lowest to the highest. */
const MAX_SPANS = 200;

/** A row as read, with its checksum facts. */
export interface ReadRow {
  readonly row: SqlRow;
  readonly value: Value;
  readonly checksum: Checksum;
  readonly block: number;
}

/** One table's rows of some blocks. */
export interface OwnRows {
  readonly byBlock: ReadonlyMap<number, SqlRow[]>;
  readonly checksums: ReadonlyMap<number, ReadonlyMap<Value, Checksum>>;
  readonly count: number;
}

/** Values that tie the rows of a group's blocks to them: heights, and the counters of the parents. */
export class OwnValues {
  readonly #spans = new Map<string, [number, number][]>();

  /** @param name `block_index`, or the scope column of a parent */
  add(name: string, span: Span): void {
    if (span === null) return;
    const spans = this.#spans.get(name) ?? [];
    const last = spans.at(-1);
    if (last && span[0] >= last[0] && span[0] <= last[1] + 1) last[1] = Math.max(last[1], span[1]);
    else spans.push([...span]);
    this.#spans.set(name, spans);
  }

  /** Adds ids of a lookup table whose rows travel with the blocks. */
  addLookups(table: string, ids: Iterable<Value>): void {
    for (const id of ids) this.add(`${table}.id`, id === null ? null : [id, id]);
  }

  of({ scope, class: tableClass, name }: TablePlan): readonly Span[] {
    const key = tableClass === 'lookup' ? `${name}.id` : scope?.column;
    return key === undefined ? [] : mergeSpans(this.#spans.get(key) ?? []);
  }
}

/** Returns few enough spans for one condition; they may cover more. */
export function condition(spans: readonly Span[]): readonly Span[] {
  if (spans.length <= MAX_SPANS) return spans;
  const bounded = spans.filter((span) => span !== null);
  const all: Span = [bounded[0]![0], bounded.at(-1)![1]];
  return spans.includes(null) ? [all, null] : [all];
}

/** Finds the tables with rows that have one of their spans, in one statement. */
export async function findTables(
  statements: Statements,
  wanted: readonly { readonly plan: TablePlan; readonly ranging: Ranging; readonly spans: readonly Span[] }[]
): Promise<ReadonlySet<string>> {
  const asked = wanted.filter(({ spans }) => spans.length > 0);
  if (asked.length === 0) return new Set();
  const parts = asked.map(
    ({ plan, ranging, spans }, at) =>
      `SELECT ${at} AS t FROM DUAL WHERE EXISTS (SELECT 1 FROM ${quoteName(plan.name)} r WHERE ${inSpansSql(ranging, plan, condition(spans))})`
  );
  const found = await rows(statements, parts.join(' UNION ALL '));
  return new Set(found.map((row) => asked[Number(row['t'])]!.plan.name));
}

/** Reads the rows of a scoped table in blocks `from` to `to`, in wire form and in the table's own order. */
export async function readOwnRows(
  statements: Statements,
  { tables }: SourceLayout,
  plan: TablePlan,
  ranging: Ranging,
  from: number,
  to: number
): Promise<OwnRows> {
  const source = scopeSql(plan, tables);
  const order = [source.block, rowOrder(plan, tables)].filter(Boolean).join(', ');
  const rest = `${source.block} AS ${quoteName(BLOCK_ALIAS)} FROM ${source.from} WHERE ${source.block} BETWEEN ? AND ? ORDER BY ${order}`;
  const found = await read(statements, plan, ranging, rest, [from, to]);
  const byBlock = new Map<number, SqlRow[]>();
  const checksums = new Map<number, Map<Value, Checksum>>();
  for (const { row, value, checksum, block } of taken(found)) {
    const ofBlock = byBlock.get(block);
    if (ofBlock) ofBlock.push(row);
    else byBlock.set(block, [row]);
    const sums = checksums.get(block) ?? new Map<Value, Checksum>();
    checksums.set(block, sums);
    sums.set(value, together(sums.get(value) ?? NO_ROWS, checksum));
  }
  return { byBlock, checksums, count: found.length };
}

/** Reads rows by a condition on alias `r`, in the order of their values. @param limit rows; undefined: all */
export async function readRows(
  statements: Statements,
  plan: TablePlan,
  ranging: Ranging,
  where: string,
  { values = [], limit }: { readonly values?: readonly unknown[]; readonly limit?: number } = {}
): Promise<ReadRow[]> {
  const bound = limit === undefined ? '' : ` LIMIT ${limit}`;
  const order = ranging.column === null ? quoteName(VALUE_ALIAS) : valueSql(ranging, plan);
  const rest = `0 AS ${quoteName(BLOCK_ALIAS)} FROM ${quoteName(plan.name)} r WHERE ${where} ORDER BY ${order}${bound}`;
  return taken(await read(statements, plan, ranging, rest, values));
}

/** Reads rows with their checksum facts. @param rest of the statement, behind the facts */
function read(
  statements: Statements,
  plan: TablePlan,
  ranging: Ranging,
  rest: string,
  values: readonly unknown[]
): Promise<SqlRow[]> {
  const facts = `${valueSql(ranging, plan)} AS ${quoteName(VALUE_ALIAS)}, ${finderWordSql(plan)} AS ${quoteName(WORD_ALIAS)}`;
  const sql = (list: string) => `SELECT ${list}, ${facts}, ${rest}`;
  return wireRows(statements, { columns: plan.columns, sql, values, alias: 'r' });
}

function taken(found: SqlRow[]): ReadRow[] {
  return found.map((row) => {
    const value = toValue(row[VALUE_ALIAS]);
    const checksum = toChecksum(1, row[WORD_ALIAS]);
    const block = Number(row[BLOCK_ALIAS]);
    // JSON leaves them out; `delete` would slow the object down.
    row[VALUE_ALIAS] = undefined;
    row[WORD_ALIAS] = undefined;
    row[BLOCK_ALIAS] = undefined;
    return { row, value, checksum, block };
  });
}
