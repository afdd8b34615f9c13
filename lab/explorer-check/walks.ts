import { LISTS } from '../../src/explorer/lists/lists.ts';

/** Questions about each kind of subject. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  address: ['A', 'B', 'C'],
  ticker: ['TOKA', 'TOKB'],
  height: ['3', '7'],
  action: ['2', '9'],
  pattern: ['TOK*'],
  children: ['TOKA'],
  hash: ['1f0'.padStart(64, 'c')],
  text: ['TOKA']
};
const PAGE_ROWS = 7;
/** Lists whose old rows come and go with later blocks: who owns a token, and lists of what stands now. */
const OF_LATER_BLOCKS = new Set(['tokens address']);
const STANDING = new Set(['markets']);

interface Answer {
  readonly data: readonly Row[];
  readonly next: string | null;
  readonly code?: string;
}
type Row = Readonly<Record<string, unknown>>;

/** Every list with every subject, as paths; lists with a past at a height. */
export function pathsAt(height: number): string[] {
  const at = (past: string | undefined) => (past ? `&height=${height}` : '');
  return Object.entries(LISTS).flatMap(
    ([method, { database, all, types, past, paths, isElsewhere, parameters = {} }]) => {
      if (database !== 'indexer' || isElsewhere || STANDING.has(method)) return [];
      const pathOf = (query: string, type: string) =>
        (paths?.[0] ?? `${method}/:query/${type}`).replace(':query', encodeURIComponent(query)).replace(':type', type);
      const typed = Object.entries(types).flatMap(([type, { takes }]) =>
        (OF_LATER_BLOCKS.has(`${method} ${type}`) ? [] : (SUBJECTS[takes] ?? [])).map(
          (query) => `/api/${pathOf(query, type)}?${at(past)}`
        )
      );
      const whole = all ? [`/api/${method}?`] : [];
      const filtered = Object.entries(parameters).flatMap(([name, { takes }]) =>
        (SUBJECTS[takes] ?? []).map((query) => `/api/${method}?${name}=${encodeURIComponent(query)}`)
      );
      return [...typed, ...whole, ...filtered];
    }
  );
}

/**
 * Walks a list by cursors, and begins again where a reorg ends a cursor.
 *
 * @param isOld whether a row is of the blocks that stay
 * @returns its rows of those blocks; null where the walk never came to its end
 */
export async function walk(
  url: string,
  path: string,
  { isOld, tries = 50 }: { readonly isOld: (row: Row) => boolean; readonly tries?: number }
): Promise<readonly Row[] | null> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const rows: Row[] = [];
    for (let cursor = ''; ; ) {
      const response = await fetch(`${url}${path}&sortorder=asc&limit=${PAGE_ROWS}${cursor}`);
      const { data, next, code } = (await response.json()) as Answer;
      if (code === 'CURSOR_STALE') break;
      if (response.status !== 200) throw new Error(`${path} answered ${response.status} ${code}`);
      rows.push(...data);
      if (next === null) return rows.filter(isOld);
      cursor = `&cursor=${next}`;
    }
  }
  return null;
}
