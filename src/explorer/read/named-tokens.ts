import { readRow, selectList } from '../lists/columns.ts';
import type { List } from '../lists/list.ts';
import type { Page, ReadPage } from './list-reader.ts';
import type { Query } from './reader.ts';
import type { NamesAt } from './token-names.ts';

/** Rows of a page at most: each statement takes as many keys, so that a connection prepares one. */
const MAX_KEYS = 100;
const KEYS = Array.from({ length: MAX_KEYS }, () => '?').join(', ');

/** Reads a page of the tokens whose names are wanted. @returns its rows, and how many such tokens there are */
export async function readNamed(
  query: Query,
  list: List,
  { limit, offset, cursor, isDescending }: Omit<Page, 'filter' | 'value'>,
  names: NamesAt,
  isWanted: (tick: string) => boolean
): Promise<ReadPage & { readonly total: number }> {
  const ids = names.filter(({ tick }) => isWanted(tick)).map(({ id }) => id);
  const total = ids.length;
  if (isDescending) ids.reverse();
  const after = cursor === null ? null : Number(cursor.key);
  const from = after === null ? offset : ids.findIndex((id) => (isDescending ? id < after : id > after));
  const kept = from < 0 ? [] : ids.slice(from, from + limit);
  const last = kept.at(-1);
  if (last === undefined) return { data: [], end: null, total };
  const found = await query<Record<string, unknown>>(
    `SELECT ${selectList(list.columns)} FROM tokens t WHERE t.id IN (${KEYS}) ORDER BY t.id ${isDescending ? 'DESC' : 'ASC'}`,
    [...kept, ...Array.from({ length: MAX_KEYS - kept.length }, () => last)]
  );
  const end = from + kept.length < total ? { key: String(last), given: 1 } : null;
  return { data: found.map((row) => readRow(list.columns, row)), end, total };
}

/** Which names of tokens a page is about; undefined for a page of another list. */
export function wantedNames({
  filter,
  value
}: Pick<Page, 'filter' | 'value'>): ((tick: string) => boolean) | undefined {
  if (filter.takes === 'pattern') return patternOf(String(value));
  return filter.takes === 'children' ? (tick) => tick.startsWith(`${value}.`) : undefined;
}

/** What a pattern matches, in which each `*` stands for any letters. */
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
