import type { TransactionRow } from './block-rows.ts';
import type { MempoolStore } from './mempool-store.ts';

/** Parts of a pass. */
interface MempoolPassOptions {
  /** Returns the ids of all transactions in the node's mempool. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Returns the rows of those transactions that carry an action, and how many cannot be read. */
  readonly scan: (
    txids: readonly string[],
    signal: AbortSignal
  ) => Promise<{ readonly transactions: readonly TransactionRow[]; readonly oddCount: number }>;
  /** Returns undefined while no database is open. */
  readonly store: () => MempoolStore | undefined;
}

const BATCH = 1_000;

/** Passes over the mempool: deletes transactions that left it, and reads new ones a batch at a time. */
export class MempoolPass {
  readonly #options: MempoolPassOptions;
  /** Ids of transactions that were read, with or without a row. */
  #seen = new Set<string>();
  #waiting: string[] = [];
  #batch: readonly string[] = [];
  #found: readonly TransactionRow[] = [];
  #oddCount = 0;

  constructor(options: MempoolPassOptions) {
    this.#options = options;
  }

  /** Transactions without a row that could not be read, since the start. */
  get oddCount(): number {
    return this.#oddCount;
  }

  /**
   * Lists the mempool and deletes rows of transactions that left it. @returns the number of new transactions to read
   */
  async list(signal: AbortSignal): Promise<number> {
    const txids = new Set(await this.#options.list(signal));
    const stored = await this.#options.store()?.retain(txids);
    if (!stored) this.#seen.clear();
    this.#seen = new Set([...this.#seen, ...(stored ?? [])].filter((txid) => txids.has(txid)));
    this.#waiting = [...txids].filter((txid) => !this.#seen.has(txid));
    return this.#waiting.length;
  }

  /** Reads the next batch of new transactions. */
  async fetch(signal: AbortSignal): Promise<void> {
    this.#batch = this.#waiting.splice(0, BATCH);
    const { transactions, oddCount } = await this.#options.scan(this.#batch, signal);
    this.#found = transactions;
    this.#oddCount += oddCount;
  }

  /** Writes the batch. @returns the number of transactions left to read */
  async save(): Promise<number> {
    await this.#options.store()?.add(this.#found);
    for (const txid of this.#batch) this.#seen.add(txid);
    return this.#waiting.length;
  }
}
