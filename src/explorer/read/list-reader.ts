import { type RawRow, readRow, selectList } from '../lists/columns.ts';
import type { Filter, List, Row, Way } from '../lists/list.ts';
import type { Cursor, Position } from './cursor.ts';
import type { Query } from './reader.ts';
import { ADDRESS_ID } from './subject.ts';

/** Part of a list to read: rows of a filter's value, after a cursor or at a page. */
export interface Page {
  readonly filter: Filter;
  /** @see readSubject */
  readonly value: string | number;
  readonly limit: number;
  /** Rows before the page; 0 with a cursor. */
  readonly offset: number;
  readonly cursor: Cursor | null;
  readonly isDescending: boolean;
}

/** Rows of a page, and where it ended; null: nothing is left. */
export interface ReadPage {
  readonly data: readonly Row[];
  readonly end: Position | null;
}

/**
 * Reads one page in two steps of one statement: an index gives the keys in order, and only their rows are read.
 *
 * The cost of a page behind a cursor does not depend on how many rows are before it.
 */
export async function readPage(query: Query, list: List, page: Page): Promise<ReadPage> {
  const { sql, values } = pageStatement(list, page);
  const found = await query<Record<string, unknown>>(sql, values);
  const kept = found.slice(0, page.limit);
  const last = kept.at(-1);
  const isMore = found.length > kept.length;
  return {
    data: kept.map((row) => readRow(list.columns, row)),
    end: isMore && last ? positionOf(last) : null
  };
}

const positionOf = (row: RawRow): Position => ({ key: String(row['row_key']), given: Number(row['row_place']) });

export type Value = string | number;

/** A statement with its values. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/**
 * Returns the statement of a page. Its text does not depend on values, so that a connection prepares it once.
 *
 * A key has at least one row, so so many keys have all rows of the page, and one more to see whether there is more.
 */
export function pageStatement(list: List, page: Page): Statement {
  const { filter, value, limit, offset, cursor, isDescending } = page;
  const direction = isDescending ? 'DESC' : 'ASC';
  // Where each key has one row, the rows before the page are skipped in the index alone, and a page begins behind the
  // key of its cursor: the row of that key may have left the list since, as a transaction leaves the mempool.
  const isSingle = list.within.length === 0;
  const skipsKeys = isSingle && filter.ways.length === 1;
  const given = cursor && !isSingle ? cursor.given : 0;
  const keys = limit + (given > 0 ? 2 : 1) + (skipsKeys ? 0 : offset);
  const after = cursor && { key: keyValue(cursor.key), isGiven: isSingle };
  const ways = boundWays(filter);
  const arms = ways.map((way) => keysOf(way, { value, after, isDescending, keys, offset: skipsKeys ? offset : 0 }));
  const found = unionOf(arms, direction, keys);
  const place = isSingle ? '1' : `ROW_NUMBER() OVER (PARTITION BY k.k ORDER BY ${list.within.join(', ')})`;
  const rows = ways.map((way) => `(${way.rows})`).join(' OR ');
  const sql = `SELECT ${selectList(list.columns)}, k.k AS row_key, ${place} AS row_place
    FROM (${found.sql}) k ${list.joins}
    WHERE ${rows} ORDER BY k.k ${direction}${list.within.map((column) => `, ${column}`).join('')}
    LIMIT ? OFFSET ?`;
  const skipped = given + (skipsKeys ? 0 : offset);
  return { sql, values: [...found.values, ...ways.flatMap((way) => fill(way.rows, value)), limit + 1, skipped] };
}

function unionOf(arms: readonly Statement[], direction: string, keys: number): Statement {
  const [only, ...more] = arms;
  if (only && more.length === 0) return only;
  return {
    sql: `${arms.map(({ sql }) => `(${sql})`).join(' UNION ')} ORDER BY k ${direction} LIMIT ?`,
    values: [...arms.flatMap(({ values }) => values), keys]
  };
}

/** Range of the keys of a way. */
interface KeyRange {
  readonly value: Value;
  /** The key at which the page before ended, and whether all its rows were given. */
  readonly after: { readonly key: Value; readonly isGiven: boolean } | null;
  readonly isDescending: boolean;
  readonly keys: number;
  readonly offset: number;
}

function keysOf(way: Way, { value, after, isDescending, keys, offset }: KeyRange): Statement {
  const { key, where } = way;
  const onward = after ? ` AND ${key} ${isDescending ? '<' : '>'}${after.isGiven ? '' : '='} ?` : '';
  return {
    sql: `${selectKeys(way)}${onward} ORDER BY ${key} ${isDescending ? 'DESC' : 'ASC'} LIMIT ? OFFSET ?`,
    values: [...fill(where, value), ...(after ? [after.key] : []), keys, offset]
  };
}

/** Returns the ways of a filter, whose `?` take the value that `readSubject` read. */
export function boundWays(filter: Filter): readonly Way[] {
  const known = BOUND.get(filter);
  if (known) return known;
  const inStatement = (condition: string) =>
    filter.takes === 'address' ? condition.replaceAll('?', ADDRESS_ID) : condition;
  const ways = filter.ways.map((way) => ({ ...way, where: inStatement(way.where), rows: inStatement(way.rows) }));
  BOUND.set(filter, ways);
  return ways;
}

const BOUND = new WeakMap<Filter, readonly Way[]>();

/** Returns SQL for the keys of a way, in no order yet, as `k`. */
export const selectKeys = ({ from, key, where, isUnique }: Way): string =>
  `SELECT ${isUnique ? '' : 'DISTINCT '}${key} AS k FROM ${from} WHERE ${where}`;

/** Returns the value of a key. One that is a number is sent as a number: MariaDB compares texts with numbers as doubles. */
function keyValue(key: string): Value {
  const number = Number(key);
  return /^\d+$/.test(key) && Number.isSafeInteger(number) ? number : key;
}

/** Returns the value once for each `?`. */
export function fill(sql: string, value: Value): Value[] {
  const values: Value[] = [];
  for (let at = sql.indexOf('?'); at >= 0; at = sql.indexOf('?', at + 1)) values.push(value);
  return values;
}
