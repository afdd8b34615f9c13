import type { Filter, List, Way } from '../lists/list.ts';
import { boundWays, fill, type Statement, selectKeys, type Value } from './list-reader.ts';
import type { Query } from './reader.ts';

/** A part of a list in the order of its keys: those behind one, up to another. */
export interface Span {
  readonly list: List;
  readonly filter: Filter;
  readonly value: Value;
  readonly after: number;
  readonly upTo: number;
}

/** Number of rows of a span, as far as it was counted. */
export interface Counted {
  readonly rows: number;
  /** The last key that was counted. */
  readonly last: number;
  /** Whether nothing of the span is behind it. */
  readonly isWhole: boolean;
}

/** Beyond every key. */
export const NO_END = Number.MAX_SAFE_INTEGER;

/** Counts the rows of the first so many keys of a span: what it reads is bounded, whatever the length of the list. */
export async function countSpan(query: Query, span: Span, maxKeys: number): Promise<Counted> {
  const { sql, values } = countStatement(span, maxKeys);
  const [found] = await query<{ found: number; keys: number; last: number | null }>(sql, values);
  const last = found?.last ?? null;
  const isWhole = last === null || Number(found?.keys) < maxKeys;
  return { rows: Number(found?.found ?? 0), last: isWhole ? span.upTo : Number(last), isWhole };
}

function countStatement({ list, filter, value, after, upTo }: Span, maxKeys: number): Statement {
  const ways = boundWays(filter);
  const arms = ways.map((way) => keysOf(way));
  const ofArms = ways.flatMap(({ where }) => [...fill(where, value), after, upTo, maxKeys]);
  const [only, ...more] = arms;
  const keys = more.length === 0 ? only! : `${arms.map((arm) => `(${arm})`).join(' UNION ')} ORDER BY k LIMIT ?`;
  const values = more.length === 0 ? ofArms : [...ofArms, maxKeys];
  if (list.within.length === 0)
    return { sql: `SELECT COUNT(*) AS found, COUNT(*) AS \`keys\`, MAX(k.k) AS last FROM (${keys}) k`, values };
  const rows = ways.map((way) => `(${way.rows})`).join(' OR ');
  const sql = `SELECT COUNT(*) AS found, COUNT(DISTINCT k.k) AS \`keys\`, MAX(k.k) AS last
    FROM (${keys}) k ${list.joins} WHERE ${rows}`;
  return { sql, values: [...values, ...ways.flatMap((way) => fill(way.rows, value))] };
}

const keysOf = (way: Way) => `${selectKeys(way)} AND ${way.key} > ? AND ${way.key} <= ? ORDER BY ${way.key} LIMIT ?`;
