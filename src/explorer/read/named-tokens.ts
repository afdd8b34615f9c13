import { readRow, selectList } from '../lists/columns.ts';
import type { List } from '../lists/list.ts';
import type { Page, ReadPage } from './list-reader.ts';
import type { Query } from './reader.ts';
import type { NamesAt } from './token-names.ts';

/** Rows of a page at most: each statement takes as many keys, so that a connection prepares one. */
const MAX_KEYS = 100;
const KEYS = Array.from({ length: MAX_KEYS }, () => '?').join(', ');

/** Tokens of a page. */
interface WantedNames {
  /** Tells them from all others. */
  readonly what: string;
  /** @param lower the name in lower case */
  readonly isWanted: (lower: string) => boolean;
}

/** Reads a page of the tokens whose names are wanted. @returns its rows, and how many such tokens there are */
export async function readNamed(
  query: Query,
  list: List,
  page: Omit<Page, 'filter' | 'value'>,
  names: NamesAt,
  { what, isWanted }: WantedNames
): Promise<ReadPage & { readonly total: number }> {
  const wanted = await names.filter(what, isWanted);
  const total = wanted.length;
  const { kept, isLast } = pageOf(wanted, page);
  const last = kept.at(-1);
  if (last === undefined) return { data: [], end: null, total };
  const found = await query<Record<string, unknown>>(
    `SELECT ${selectList(list.columns)} FROM tokens t WHERE t.id IN (${KEYS}) ORDER BY t.id ${page.isDescending ? 'DESC' : 'ASC'}`,
    [...kept, ...Array.from({ length: MAX_KEYS - kept.length }, () => last)]
  );
  const end = isLast ? null : { key: String(last), given: 1 };
  return { data: found.map((row) => readRow(list.columns, row)), end, total };
}

/** Returns the keys of a page in its order. @param wanted by ascending keys */
function pageOf(
  wanted: readonly number[],
  { limit, offset, cursor, isDescending }: Omit<Page, 'filter' | 'value'>
): { readonly kept: readonly number[]; readonly isLast: boolean } {
  const after = cursor === null ? null : Number(cursor.key);
  const idsOf = (from: number, to: number) => wanted.slice(Math.max(0, from), Math.max(0, to));
  if (isDescending) {
    const end = after === null ? wanted.length - offset : countBelow(wanted, after);
    return { kept: idsOf(end - limit, end).reverse(), isLast: end <= limit };
  }
  const from = after === null ? offset : countBelow(wanted, after + 1);
  return { kept: idsOf(from, from + limit), isLast: from + limit >= wanted.length };
}

/** Returns the number of ascending keys below one. */
function countBelow(wanted: readonly number[], id: number): number {
  let [low, high] = [0, wanted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (wanted[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the condition on names of tokens for a page; undefined for a page of another list. */
export function wantedNames({ filter, value }: Pick<Page, 'filter' | 'value'>): WantedNames | undefined {
  const wanted = String(value).toLowerCase();
  const what = `${filter.takes} ${wanted}`;
  if (filter.takes === 'pattern') return { what, isWanted: patternOf(wanted) };
  if (filter.takes === 'children') return { what, isWanted: (lower) => lower.startsWith(`${wanted}.`) };
  return undefined;
}

/** Returns a test for a pattern, in which each `*` stands for any letters. */
export function patternOf(pattern: string): (tick: string) => boolean {
  const [begin = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return (tick) => tick === begin;
  return (tick) => {
    if (!tick.startsWith(begin)) return false;
    let at = begin.length;
    for (const part of parts) {
      const place = tick.indexOf(part, at);
      if (place < 0) return false;
      at = place + part.length;
    }
    return tick.length - end.length >= at && tick.endsWith(end);
  };
}
