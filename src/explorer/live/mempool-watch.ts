import type { Coin } from '../coins.ts';
import type { Question } from '../question.ts';

/** An action that waits for its block, as the list `mempool` tells it. */
export interface Waiting {
  readonly tx_hash: string;
  readonly action: string;
  readonly source: string | null;
  readonly data: string | null;
}

/** One action that came or went. */
interface MempoolChange {
  readonly type: 'MEMPOOL_ACTION' | 'MEMPOOL_REMOVED';
  readonly waiting: Waiting;
}

/** Rows of one page, and pages of one look: of a longer mempool the first hashes are followed. */
const PAGE_ROWS = 100;
const MOST_PAGES = 10;
/** Changes of one look; the others are found again by the next one. */
const MOST_CHANGES = 100;
const QUESTION: Question = {
  method: 'mempool',
  parameters: {},
  page: 1,
  limit: PAGE_ROWS,
  order: 'asc',
  format: 'json'
};

/** Finds what came into a mempool and what left it, from one look to the next. */
export class MempoolWatch {
  #known: Map<string, Waiting> | null = null;

  /** Forgets what it saw: the next look is a first one. */
  forget(): void {
    this.#known = null;
  }

  /** Returns what changed since the look before; nothing at the first one. @throws what the coin's `read` throws */
  async look({ read }: Pick<Coin, 'read'>): Promise<readonly MempoolChange[]> {
    const { found, isWhole } = await readWaiting(read);
    const known = this.#known;
    if (known === null) {
      this.#known = found;
      return [];
    }
    const last = isWhole ? null : ([...found.keys()].at(-1) ?? '');
    const isSeen = (hash: string) => last === null || hash <= last;
    const gone = [...known.values()].filter(({ tx_hash: hash }) => !found.has(hash) && isSeen(hash));
    const came = [...found.values()].filter(({ tx_hash: hash }) => !known.has(hash));
    const changes = [
      ...gone.map((waiting) => ({ type: 'MEMPOOL_REMOVED', waiting }) as const),
      ...came.map((waiting) => ({ type: 'MEMPOOL_ACTION', waiting }) as const)
    ].slice(0, MOST_CHANGES);
    for (const { type, waiting } of changes)
      if (type === 'MEMPOOL_ACTION') known.set(waiting.tx_hash, waiting);
      else known.delete(waiting.tx_hash);
    return changes;
  }
}

async function readWaiting(read: Coin['read']): Promise<{ found: Map<string, Waiting>; isWhole: boolean }> {
  const found = new Map<string, Waiting>();
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { body, next } = await read(cursor === null ? QUESTION : { ...QUESTION, cursor });
    for (const waiting of (JSON.parse(body) as { data: Waiting[] }).data) found.set(waiting.tx_hash, waiting);
    if (next === null) return { found, isWhole: true };
    cursor = next;
  }
  return { found, isWhole: false };
}
