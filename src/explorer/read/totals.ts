import { LRUCache } from 'lru-cache';
import { type Counted, countSpan, NO_END, type Span } from './count.ts';
import type { Query } from './reader.ts';
import { findBlock, isStanding, type Tip } from './tip.ts';

/** Rows to count; `name` identifies them. */
type Countable = Pick<Span, 'list' | 'filter' | 'value'> & { readonly name: string };

/** Runs work in one snapshot of the ledger, apart from what callers wait for. */
type Aside = <T>(work: (query: Query, tip: Tip | null) => Promise<T>) => Promise<T>;

interface TotalsOptions {
  /** Blocks that a reorg can replace. */
  readonly undoDepth: number;
  /** Keys that are counted while a caller waits, and at a time aside. */
  readonly keysAtOnce?: number;
  readonly keysAside?: number;
}

/** Count of a list below the blocks that a reorg can replace: it never changes. */
type Sealed = Pick<Counted, 'rows' | 'last'>;

/** The newest block that no reorg can replace, and the last action of it and of those before it. */
interface Seal {
  readonly block: Tip;
  readonly lastAction: number;
}

/** Before the first key. */
const NOTHING: Sealed = { rows: 0, last: -1 };
const KEYS_AT_ONCE = 1_000;
const KEYS_ASIDE = 20_000;
const MAX_LISTS = 20_000;
const MAX_WAITING = 64;

/**
 * Exact number of rows of each list, at a cost that does not depend on its length.
 *
 * The rows of blocks that no reorg can replace are counted once, in parts; those above are counted again for each new tip. A list
 * that is too long to count while its caller waits is counted aside, and has no total until then. Lists in which older rows can
 * change have nothing that stays: of those the total of one tip is kept until the next.
 */
export class Totals {
  readonly #aside: Aside;
  readonly #options: Required<TotalsOptions>;
  #sealed = new LRUCache<string, Sealed>({ max: MAX_LISTS });
  /** Totals at the tip; null: not counted in time. */
  readonly #ofTip = new LRUCache<string, { readonly mark: string; readonly total: number | null }>({ max: MAX_LISTS });
  readonly #waiting = new Map<string, Countable>();
  #seal: Seal | null = null;
  #sealedAt: string | null = null;
  #work: Promise<void> | undefined;

  constructor(aside: Aside, { keysAtOnce = KEYS_AT_ONCE, keysAside = KEYS_ASIDE, undoDepth }: TotalsOptions) {
    this.#aside = aside;
    this.#options = { undoDepth, keysAtOnce, keysAside };
  }

  /** @returns null while the list is being counted */
  async read(query: Query, asked: Countable, tip: Tip): Promise<number | null> {
    const known = this.#ofTip.get(asked.name);
    if (known?.mark === tip.mark) return known.total;
    if (this.#waiting.has(asked.name)) return null;
    await this.#sealUpTo(query, tip);
    const below = this.#sealed.get(asked.name) ?? NOTHING;
    const above = await countSpan(query, { ...asked, after: below.last, upTo: NO_END }, this.#options.keysAtOnce);
    if (!above.isWhole) {
      this.#countAside(asked);
      return null;
    }
    const isLong = above.rows * 2 > this.#options.keysAtOnce && (this.#seal?.lastAction ?? NOTHING.last) > below.last;
    if (asked.list.isSettled && isLong) this.#countAside(asked); // before it is too long
    const total = below.rows + above.rows;
    this.#ofTip.set(asked.name, { mark: tip.mark, total });
    return total;
  }

  /** Waits until nothing is being counted aside. */
  async idle(): Promise<void> {
    while (this.#work) await this.#work;
  }

  #countAside(asked: Countable): void {
    if (this.#waiting.size < MAX_WAITING) this.#waiting.set(asked.name, asked);
    this.#work ??= this.#countWaiting().finally(() => {
      this.#work = undefined;
    });
  }

  async #countWaiting(): Promise<void> {
    for (const [name, asked] of this.#waiting) {
      // Whoever asks again has it counted again; where the database does not answer, its breaker says so.
      await (asked.list.isSettled ? this.#countSealed(asked) : this.#countWhole(asked)).catch(() => undefined);
      this.#waiting.delete(name);
    }
  }

  /** Counts part by part, each in a snapshot of its own: rows of blocks that no reorg can replace are the same in all. */
  async #countSealed(asked: Countable): Promise<void> {
    for (let isWhole = false; !isWhole; )
      isWhole = await this.#aside(async (query, tip) => {
        if (tip) await this.#sealUpTo(query, tip);
        const [sealed, upTo] = [this.#sealed, this.#seal?.lastAction ?? NOTHING.last];
        const below = sealed.get(asked.name) ?? NOTHING;
        if (below.last >= upTo) return await this.#countRest(query, asked, tip, below);
        const part = await countSpan(query, { ...asked, after: below.last, upTo }, this.#options.keysAside);
        const counted = { rows: below.rows + part.rows, last: part.last };
        sealed.set(asked.name, counted);
        return part.isWhole && (await this.#countRest(query, asked, tip, counted));
      });
  }

  async #countWhole(asked: Countable): Promise<void> {
    await this.#aside((query, tip) => this.#countRest(query, asked, tip, NOTHING));
  }

  /** Counts the rows behind the sealed ones, all in one snapshot. */
  async #countRest(query: Query, asked: Countable, tip: Tip | null, below: Sealed): Promise<true> {
    if (tip === null) return true;
    this.#ofTip.set(asked.name, { mark: tip.mark, total: null });
    let counted: Counted = { ...below, isWhole: false };
    while (!counted.isWhole) {
      const part = await countSpan(query, { ...asked, after: counted.last, upTo: NO_END }, this.#options.keysAside);
      counted = { ...part, rows: counted.rows + part.rows };
    }
    this.#ofTip.set(asked.name, { mark: tip.mark, total: counted.rows });
    return true;
  }

  /** Moves the seal up, once for each tip. What was counted below a block that does not stand any more is forgotten. */
  async #sealUpTo(query: Query, tip: Tip): Promise<void> {
    if (this.#sealedAt === tip.mark) return;
    const height = tip.height - this.#options.undoDepth;
    if (this.#seal && !(await isStanding(query, this.#seal.block))) {
      this.#seal = null;
      this.#sealed = new LRUCache({ max: MAX_LISTS }); // a part that is being counted goes into the old one
    }
    if (height > (this.#seal?.block.height ?? 0)) this.#seal = (await readSeal(query, height)) ?? this.#seal;
    this.#sealedAt = tip.mark;
  }
}

async function readSeal(query: Query, height: number): Promise<Seal | null> {
  const block = await findBlock(query, height);
  const [last] = await query<{ action_index: number }>(
    'SELECT action_index FROM actions WHERE block_index <= ? ORDER BY block_index DESC, action_index DESC LIMIT 1',
    [height]
  );
  return block && last ? { block, lastAction: Number(last.action_index) } : null;
}
