import { LRUCache } from 'lru-cache';
import { ReadElsewhere } from './read-elsewhere.ts';
import type { Query } from './reader.ts';
import { isStanding, type Tip } from './tip.ts';

/** A token by its name. */
export interface TokenName {
  /** Its key in `tokens`. */
  readonly id: number;
  readonly tickId: number;
  readonly tick: string;
  /** The same in lower case. */
  readonly lower: string;
}

/** The tokens that one snapshot has. */
export interface NamesAt {
  /** The token of a name in any case. */
  find(tick: string): TokenName | undefined;
  /** Returns the wanted names, the oldest first, by ascending ids. @param what tells one condition from all others */
  filter(what: string, isWanted: (name: TokenName) => boolean): readonly TokenName[];
}

/** Names among the first ones that satisfy a condition. */
interface Found {
  readonly among: readonly TokenName[];
  readonly count: number;
  readonly wanted: readonly TokenName[];
}

const NO_NAMES: NamesAt = { find: () => undefined, filter: () => [] };
const ROWS_AT_ONCE = 10_000;
/** Most names that are kept for the last conditions, so that the next page of one looks at no name again: 8 bytes a token. */
const MAX_FOUND = 1_000_000;
const MAX_CONDITIONS = 1_000;
const NEXT_ROWS = `SELECT t.id, t.tick_id, i.tick FROM tokens t STRAIGHT_JOIN index_tickers i ON i.id = t.tick_id
  WHERE t.id > ? ORDER BY t.id LIMIT ${ROWS_AT_ONCE}`;

/**
 * The names of all tokens of a ledger, in memory: no index of its tables ignores case, and none has the tokens of a pattern in
 * their order, so MariaDB would read them all for each question. It takes some 200 bytes a token.
 *
 * Names are read as far as they are new at the tip of a question. After a reorg all are read again.
 */
export class TokenNames {
  /** Oldest first. They are only added to; after a reorg others take their place. */
  #names: TokenName[] = [];
  #byLower = new Map<string, number>();
  /** The newest block at which names were read. */
  #block: Tip | null = null;
  /** All names of that block are read. */
  #isWhole = false;
  /** The read under way; it never rejects. */
  #reading: Promise<unknown> | undefined;
  readonly #found = new LRUCache<string, Found>({
    max: MAX_CONDITIONS,
    maxSize: MAX_FOUND,
    sizeCalculation: ({ wanted }) => 1 + wanted.length
  });

  /**
   * Returns the names of the snapshot that `query` reads.
   *
   * @param tip its newest block
   * @throws {ReadElsewhere} while other work reads names
   */
  async at(query: Query, tip: Tip | null): Promise<NamesAt> {
    if (tip === null) return NO_NAMES;
    if (!this.#isWhole || this.#block?.mark !== tip.mark) {
      if (this.#reading) throw new ReadElsewhere(this.#reading);
      const reading = this.#advance(query, tip).finally(() => {
        this.#reading = undefined;
      });
      this.#reading = reading.catch(() => undefined);
      await reading;
    }
    return namesAt(this.#names, this.#byLower, this.#found);
  }

  /** Reads the names that are new. After an error the names that were read stay, and the next question goes on behind them. */
  async #advance(query: Query, tip: Tip): Promise<void> {
    if (this.#block && !(await isStanding(query, this.#block))) {
      this.#names = [];
      this.#byLower = new Map();
    }
    this.#block = tip;
    this.#isWhole = false;
    for (let found: { id: number; tick_id: number; tick: string }[]; !this.#isWhole; ) {
      found = await query(NEXT_ROWS, [this.#names.at(-1)?.id ?? 0]);
      for (const { id, tick_id, tick } of found)
        this.#add({ id: Number(id), tickId: Number(tick_id), tick, lower: tick.toLowerCase() });
      this.#isWhole = found.length < ROWS_AT_ONCE;
    }
  }

  #add(name: TokenName): void {
    if (!this.#byLower.has(name.lower)) this.#byLower.set(name.lower, this.#names.length);
    this.#names.push(name);
  }
}

/** Returns names as they are now, without those that are added later. */
function namesAt(
  names: readonly TokenName[],
  byLower: ReadonlyMap<string, number>,
  found: LRUCache<string, Found>
): NamesAt {
  const count = names.length;
  return {
    find: (tick) => {
      const place = byLower.get(tick.toLowerCase());
      return place === undefined || place >= count ? undefined : names[place];
    },
    filter: (what, isWanted) => {
      const known = found.get(what);
      if (known?.among === names && known.count === count) return known.wanted;
      const wanted: TokenName[] = [];
      for (let place = 0; place < count; place++) if (isWanted(names[place]!)) wanted.push(names[place]!);
      found.set(what, { among: names, count, wanted });
      return wanted;
    }
  };
}
