import type { TransactionRow } from './block-rows.ts';
import type { MempoolStore } from './mempool-store.ts';

export interface MempoolPassOptions {
  /** Ids of all transactions in the node's mempool. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Rows of those among these transactions that say something, and how many cannot be read. */
  readonly scan: (
    txids: readonly string[],
    signal: AbortSignal
  ) => Promise<{ readonly transactions: readonly TransactionRow[]; readonly oddCount: number }>;
  /** Undefined while no database is open. */
  readonly store: () => MempoolStore | undefined;
}

const BATCH = 1_000;

/** Passes over the mempool: deletes transactions that left it, and reads new ones a batch at a time. */
export class MempoolPass {
  readonly #options: MempoolPassOptions;
  /** Read before, with something to say or without. */
  #seen = new Set<string>();
  #waiting: string[] = [];
  #batch: readonly string[] = [];
  #found: readonly TransactionRow[] = [];
  #oddCount = 0;

  constructor(options: MempoolPassOptions) {
    this.#options = options;
  }

  /** Transactions that could not be read since the start: they have no row. */
  get oddCount(): number {
    return this.#oddCount;
  }

  /** @returns how many new transactions wait to be read */
  async list(signal: AbortSignal): Promise<number> {
    const txids = new Set(await this.#options.list(signal));
    const stored = await this.#options.store()?.retain(txids);
    if (!stored) this.#seen.clear();
    this.#seen = new Set([...this.#seen, ...(stored ?? [])].filter((txid) => txids.has(txid)));
    this.#waiting = [...txids].filter((txid) => !this.#seen.has(txid));
    return this.#waiting.length;
  }

  async fetch(signal: AbortSignal): Promise<void> {
    this.#batch = this.#waiting.splice(0, BATCH);
    const { transactions, oddCount } = await this.#options.scan(this.#batch, signal);
    this.#found = transactions;
    this.#oddCount += oddCount;
  }

  /** @returns how many are left */
  async save(): Promise<number> {
    await this.#options.store()?.add(this.#found);
    for (const txid of this.#batch) this.#seen.add(txid);
    return this.#waiting.length;
  }
}
