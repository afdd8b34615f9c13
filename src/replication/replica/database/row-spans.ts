import { quoteName, type Statements } from '../../../db/connection.ts';
import { contentSlotSql } from '../../../db/row-codec.ts';
import { chunks } from '../../../db/statement-batch.ts';
import { PlatformError } from '../../../errors.ts';
import type { TableSpans } from '../../../wire/data/messages.ts';
import { selectWhere } from './row-statements.ts';
import type { CanonicalRow, ReplicaTable } from './schema.ts';

/** Spans that reach one of them have no bound there: all values beyond it count as this one. */
export const [LOWEST, HIGHEST] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

/**
 * Selects the rows of this database that lie in some spans of a column, or of the slots.
 *
 * @throws {PlatformError} SOURCE_INVALID when the table has no such integer column
 */
export async function selectSpans(
  connection: Statements,
  table: ReplicaTable,
  { column, spans }: Pick<TableSpans, 'column' | 'spans'>
): Promise<CanonicalRow[]> {
  const position = table.codecs.find(({ name }) => name === column);
  if (column !== null && position?.kind !== 'integer') {
    const reason = `the source sent a range of ${table.name} by ${column.slice(0, 64)}, which is not an integer column here`;
    throw new PlatformError('SOURCE_INVALID', { reason, table: table.name });
  }
  const value = column === null ? `(${contentSlotSql(table.plan.storedColumns, 't')})` : `t.${quoteName(column)}`;
  const lists = [...chunks(conditions(value, joined(spans)), (condition) => condition)].map((part) =>
    selectWhere(connection, table, part.join(' OR '))
  );
  return (await Promise.all(lists)).flat();
}

type Span = TableSpans['spans'][number];

/** Merges overlapping spans, so that no row lies in two of them. */
function joined(spans: readonly Span[]): Span[] {
  const found: [number, number][] = [];
  for (const [from, to] of spans.filter((span) => span !== null).sort(([a], [b]) => a - b)) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return spans.includes(null) ? [...found, null] : found;
}

/** Returns the conditions for spans. Single values go together, so that a thousand of them are one lookup in the index. */
function conditions(value: string, spans: readonly Span[]): string[] {
  const isSingle = (span: Span) => span !== null && span[0] === span[1] && span[0] > LOWEST && span[0] < HIGHEST;
  const single = spans.filter(isSingle).map((span) => span![0]);
  const found = [...chunks(single, String)].map((part) => `${value} IN (${part.join(',')})`);
  for (const span of spans) {
    if (span === null) found.push(`${value} IS NULL`);
    else if (!isSingle(span)) found.push(between(value, span));
  }
  return found;
}

function between(value: string, [from, to]: readonly [number, number]): string {
  if (from === LOWEST && to === HIGHEST) return `${value} IS NOT NULL`;
  if (from === LOWEST) return `${value} <= ${to}`;
  return to === HIGHEST ? `${value} >= ${from}` : `${value} BETWEEN ${from} AND ${to}`;
}
