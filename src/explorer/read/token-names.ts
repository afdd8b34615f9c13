import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { IdsByText } from '../../consensus/ids-by-text.ts';
import type { SqlRow } from '../../db/connection.ts';
import { ReadElsewhere } from './read-elsewhere.ts';
import type { Query } from './reader.ts';
import { isStanding, type Tip } from './tip.ts';

/** The tokens that one snapshot has. */
export interface NamesAt {
  /** Returns the `tick_id` of a token by its name in any case. */
  find(tick: string): number | undefined;
  /**
   * Returns the keys in `tokens` of the wanted names, ascending.
   *
   * @param what tells one condition from all others  @param isWanted  takes names in lower case
   */
  filter(what: string, isWanted: (lower: string) => boolean): Promise<readonly number[]>;
  /** Yields the names of ascending keys that `filter` has returned. */
  ticksOf(ids: readonly number[]): Generator<string>;
}

/** Tokens by ascending keys: their names, one behind the other, and where each ends. */
interface NamePage {
  readonly text: Buffer;
  readonly ends: Uint32Array;
  readonly ids: Uint32Array;
  readonly tickIds: Uint32Array;
}

/** Names of one branch, in pages by ascending ids: names are only added, and the last page may be replaced by a longer one. */
interface Names {
  readonly pages: NamePage[];
  /** Key in `tokens` of the oldest token of each name in lower case. */
  readonly byLower: IdsByText;
}

/** Keys of those up to the last one that satisfy a condition. */
interface Found {
  readonly among: Names;
  readonly last: number;
  readonly ids: readonly number[];
}

const ROWS_AT_ONCE = 10_000;
/** Pages that are looked through before others are answered: some milliseconds. */
const PAGES_AT_ONCE = 4;
/** Most keys that are kept for the last conditions, so that the next page of one looks at no name again: 8 bytes a token. */
const MAX_FOUND = 1_000_000;
const MAX_CONDITIONS = 1_000;
const NEXT_ROWS = `SELECT t.id, t.tick_id, i.tick FROM tokens t STRAIGHT_JOIN index_tickers i ON i.id = t.tick_id
  WHERE t.id > ? ORDER BY t.id LIMIT ${ROWS_AT_ONCE}`;

interface Row extends SqlRow {
  readonly id: number;
  readonly tick_id: number;
  readonly tick: string;
}

/**
 * The names of all tokens of a ledger, in memory: no index of its tables ignores case, and none has the tokens of a pattern in
 * their order, so MariaDB would read them all for each question. It takes some 80 bytes a token, outside the heap: anybody may
 * issue one with 16 bytes.
 *
 * Names are read as far as they are new at the tip of a question. After a reorg all are read again.
 */
export class TokenNames {
  #names: Names = { pages: [], byLower: new IdsByText() };
  /** The newest block at which names were read. */
  #block: Tip | null = null;
  /** All names of that block are read. */
  #isWhole = false;
  /** The read under way; it never rejects. */
  #reading: Promise<unknown> | undefined;
  readonly #found = new LRUCache<string, Found>({
    max: MAX_CONDITIONS,
    maxSize: MAX_FOUND,
    sizeCalculation: ({ ids }) => 1 + ids.length
  });

  /**
   * Returns the names of the snapshot that `query` reads.
   *
   * @param tip its newest block
   * @throws {ReadElsewhere} while other work reads names
   */
  async at(query: Query, tip: Tip | null): Promise<NamesAt> {
    if (tip === null) return namesAt({ pages: [], byLower: new IdsByText() }, this.#found);
    if (!this.#isWhole || this.#block?.mark !== tip.mark) {
      if (this.#reading) throw new ReadElsewhere(this.#reading);
      const reading = this.#advance(query, tip).finally(() => {
        this.#reading = undefined;
      });
      this.#reading = reading.catch(() => undefined);
      await reading;
    }
    return namesAt(this.#names, this.#found);
  }

  /** Reads the names that are new. After an error the names that were read stay, and the next question goes on behind them. */
  async #advance(query: Query, tip: Tip): Promise<void> {
    if (this.#block && !(await isStanding(query, this.#block))) this.#names = { pages: [], byLower: new IdsByText() };
    this.#block = tip;
    this.#isWhole = false;
    for (let found: readonly Row[]; !this.#isWhole; ) {
      found = await query(NEXT_ROWS, [lastOf(this.#names.pages)]);
      if (found.length > 0) add(this.#names, found);
      this.#isWhole = found.length < ROWS_AT_ONCE;
    }
  }
}

/** Returns the highest key of pages; 0 where there is none. */
const lastOf = (pages: readonly NamePage[]) => pages.at(-1)?.ids.at(-1) ?? 0;

function add({ pages, byLower }: Names, found: readonly Row[]): void {
  const page = pageOf(found);
  const before = pages.at(-1);
  if (before && before.ids.length + page.ids.length <= ROWS_AT_ONCE) pages[pages.length - 1] = joined(before, page);
  else pages.push(page);
  for (const { id, tick } of found) {
    const lower = tick.toLowerCase();
    if (!byLower.has(lower)) byLower.set(lower, Number(id));
  }
}

function pageOf(found: readonly Row[]): NamePage {
  const texts = found.map(({ tick }) => Buffer.from(tick));
  const ends = new Uint32Array(found.length);
  let end = 0;
  for (const [at, text] of texts.entries()) {
    end += text.length;
    ends[at] = end;
  }
  const ids = Uint32Array.from(found, ({ id }) => Number(id));
  const tickIds = Uint32Array.from(found, ({ tick_id }) => Number(tick_id));
  return { text: Buffer.concat(texts), ends, ids, tickIds };
}

function joined(one: NamePage, other: NamePage): NamePage {
  return {
    text: Buffer.concat([one.text, other.text]),
    ends: Uint32Array.from([...one.ends, ...other.ends.map((end) => end + one.text.length)]),
    ids: Uint32Array.from([...one.ids, ...other.ids]),
    tickIds: Uint32Array.from([...one.tickIds, ...other.tickIds])
  };
}

/** Returns names as they are now, without those that are added later. */
function namesAt(names: Names, known: LRUCache<string, Found>): NamesAt {
  const { pages } = names;
  const [count, last] = [pages.length, lastOf(pages)];
  return {
    find: (tick) => {
      const id = names.byLower.get(tick.toLowerCase());
      if (id === undefined || id > last) return undefined;
      const { ids, tickIds } = pages[placeOf(count, (at) => pages[at]!.ids.at(-1)! >= id)]!;
      return tickIds[placeOf(ids.length, (at) => ids[at]! >= id)];
    },
    filter: async (what, isWanted) => {
      const before = known.get(what);
      if (before?.among === names && before.last === last) return before.ids;
      const wanted: number[] = [];
      for (let page = 0; page < count; page++) {
        addWanted(wanted, pages[page]!, { isWanted, last });
        if (page % PAGES_AT_ONCE === PAGES_AT_ONCE - 1) await nextTurn(); // others are answered meanwhile
      }
      known.set(what, { among: names, last, ids: wanted });
      return wanted;
    },
    *ticksOf(wanted) {
      let [page, at] = [0, 0];
      for (const id of wanted) {
        for (; pages[page]!.ids.at(-1)! < id; at = 0) page += 1;
        const { text, ends, ids } = pages[page]!;
        while (ids[at]! < id) at += 1;
        yield text.toString('utf8', ends[at - 1] ?? 0, ends[at]);
      }
    }
  };
}

/** @param last  key behind which names were added later */
function addWanted(
  wanted: number[],
  { text, ends, ids }: NamePage,
  { isWanted, last }: { readonly isWanted: (lower: string) => boolean; readonly last: number }
): void {
  let begin = 0;
  for (const [at, end] of ends.entries()) {
    const id = ids[at]!;
    if (id <= last && isWanted(text.toString('utf8', begin, end).toLowerCase())) wanted.push(id);
    begin = end;
  }
}

/** Returns the first of some places for which a condition holds, as for all behind it. */
function placeOf(places: number, holds: (place: number) => boolean): number {
  let [low, high] = [0, places - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
