import { type Connection, quoteName, rows } from '../../../db/connection.ts';
import { selectList } from '../../../db/row-codec.ts';
import type { TableRead } from '../../../db/row-stream.ts';
import type { MissedChanges, OlderSpans } from '../../../wire/data/snapshot.ts';
import type { TablePlan } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { inSpansSql, rangingOf, toValue } from '../changes/ranging.ts';
import { type Span, withoutSpans } from '../changes/spans.ts';

/** Parts of a scoped table that changed in older blocks. */
export interface OlderPart {
  readonly table: string;
  readonly spans: OlderSpans;
  readonly read: TableRead;
  /** SQL: a row (alias `r`) lies in one of the parts, and in no block of the snapshot. */
  readonly where: string;
}

/** Returns the tables that a reader has missed. Values with blocks in the snapshot are sent with those. @param last its highest block */
export async function planOlderParts(
  connection: Connection,
  { plans, tables }: Pick<SourceLayout, 'plans' | 'tables'>,
  { from, spans }: MissedChanges,
  last: number
): Promise<OlderPart[]> {
  const parts: OlderPart[] = [];
  const own = new Map<string, readonly Span[]>();
  for (const plan of plans) {
    const { name, scope } = plan;
    const changed = spans[name];
    if (!changed || !scope) continue;
    const ranging = rangingOf(plan, tables);
    const key = `${scope.parent}.${scope.column}`;
    if (!own.has(key))
      own.set(key, scope.parent ? await valuesOf(connection, scope.parent, scope.column, from, last) : [[from, last]]);
    const older = ranging.column === null ? changed : withoutSpans(changed, own.get(key)!);
    if (older.length === 0) continue;
    const where = `${inSpansSql(ranging, plan, older)} AND ${notWithin(scope, from, last)}`;
    const sql = `SELECT ${selectList(plan.columns, 'r')} FROM ${quoteName(name)} r WHERE ${where}`;
    parts.push({
      table: name,
      spans: { column: ranging.column, spans: older.map((span) => span && [...span]) },
      read: { table: name, columns: plan.columns, sql, values: [] },
      where
    });
  }
  return parts;
}

/** Values of a table without blocks that come as parts of it; of more, all of it comes. */
const MOST_VALUES = 100_000;

/**
 * Returns the parts of a table without blocks that a reader has missed; null where all of it is to be sent.
 *
 * @param changed none: nothing changed
 */
export function planOtherPart(plan: TablePlan, { tables }: SourceLayout, changed: readonly Span[]): OlderPart | null {
  const ranging = rangingOf(plan, tables);
  // Only of these is every change listed by its value.
  if (ranging.column === null || !ranging.isUnique || changed.includes(null)) return null;
  const values = changed.reduce((sum, span) => sum + span![1] - span![0] + 1, 0);
  if (values > MOST_VALUES) return null;
  const where = inSpansSql(ranging, plan, changed);
  const sql = `SELECT ${selectList(plan.columns, 'r')} FROM ${quoteName(plan.name)} r WHERE ${where}`;
  const spans = { column: ranging.column, spans: changed.map((span) => span && [...span]) } as OlderSpans;
  return { table: plan.name, spans, read: { table: plan.name, columns: plan.columns, sql, values: [] }, where };
}

/** Reads the lowest and the highest value that rows of some blocks have. */
async function valuesOf(
  connection: Connection,
  parent: string,
  column: string,
  from: number,
  last: number
): Promise<Span[]> {
  const name = quoteName(column);
  const [row] = await rows(
    connection,
    `SELECT MIN(${name}) AS low, MAX(${name}) AS high FROM ${quoteName(parent)} WHERE block_index BETWEEN ? AND ?`,
    [from, last]
  );
  return row?.['low'] == null ? [] : [[toValue(row['low'])!, toValue(row['high'])!]];
}

function notWithin(
  { column, parent }: { readonly column: string; readonly parent: string | null },
  from: number,
  last: number
): string {
  if (parent === null) return `(r.block_index IS NULL OR r.block_index NOT BETWEEN ${from} AND ${last})`;
  const name = quoteName(column);
  return `NOT EXISTS (SELECT 1 FROM ${quoteName(parent)} p WHERE p.${name} = r.${name} AND p.block_index BETWEEN ${from} AND ${last})`;
}
