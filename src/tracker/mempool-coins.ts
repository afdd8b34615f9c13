import type { PresentTransactions } from '../coin/node/raw-chain.ts';
import { type RawTransaction, readRawTransaction } from '../coin/raw/raw-transaction.ts';
import type { MempoolSteps } from '../follower/mempool-loop.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import { coinsOf } from './coins/changes.ts';
import type { CoinReader } from './coins/coin-reader.ts';
import {
  coinCountOf,
  MempoolIndex,
  makerOf,
  nameOf,
  type ScriptOverlay,
  type WaitingTransaction
} from './mempool-index.ts';

/** Sources of the mempool's coins. */
interface MempoolCoinsOptions {
  /** Returns the ids of all transactions in the node's mempool. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Returns those of the transactions that the node still has, and those that cannot be read. */
  readonly read: (txids: readonly string[], signal: AbortSignal) => Promise<PresentTransactions>;
  /** Returns undefined while no database is open. */
  readonly coins: () => Pick<CoinReader, 'owners'> | undefined;
  /** Most inputs and outputs in memory, and those of 32 transactions more; default MOST_COINS. */
  readonly mostCoins?: number;
}

/** Effect of the mempool on the coins of one script, at one moment. */
export interface MempoolOverlay extends ScriptOverlay {
  /** Returns whether no stored coin has changed since the look, and it is still the newest one. */
  readonly isOfNow: () => boolean;
  /** Returns whether it fits coins that were read since: none has changed, and it follows no newer block. */
  readonly isOfStored: () => boolean;
}

/** Most transactions of a batch. */
const BATCH = 500;
/** Inputs and outputs after which a batch ends. */
const BATCH_COINS = 20_000;
/** Transactions that are read at once. */
const PART = 32;
/** Least patience: a look at a small mempool takes milliseconds, on a busy machine seconds. */
const LEAST_PATIENCE_MS = 5_000;
/** Most transactions in memory. With more the overlay counts as incomplete. */
export const MOST_TRANSACTIONS = 300_000;
/** Most inputs and outputs in memory. With more the overlay counts as incomplete. */
export const MOST_COINS = 2_000_000;

/** Coins that the mempool creates and spends, by script, in memory. */
export class MempoolCoins implements MempoolSteps {
  readonly #options: MempoolCoinsOptions;
  readonly #mostCoins: number;
  /** The transactions that are shown. */
  readonly #index = new MempoolIndex();
  /** Transactions of the index that the current look removes. */
  #leaving: ReadonlySet<string> = new Set();
  /** Transactions that were read and are not shown yet. */
  readonly #fresh = new Map<string, WaitingTransaction>();
  /** Number of inputs and outputs of the index without `leaving`, and of `fresh`. */
  #held = 0;
  #waiting: string[] = [];
  #read: readonly WaitingTransaction[] = [];
  #odd: ReadonlySet<string> = new Set();
  #isTooLarge = false;
  #indexedAt: number | null = null;
  /** Duration of the last complete look, in milliseconds. */
  #lookMs = 0;
  #beganAt = 0;
  /** Number of changes of stored coins, and the number at which the current look and the last complete one began. */
  #changes = 0;
  #isDue = false;
  #changesSeen = { listed: -1, indexed: -1 };
  #version = 0;

  constructor(options: MempoolCoinsOptions) {
    this.#options = options;
    this.#mostCoins = options.mostCoins ?? MOST_COINS;
  }

  /**
   * Monotonic time at which the whole mempool was last known. Null when it never was, does not fit, the last look
   * failed, stored coins changed since the look began, or the node's mempool follows a block that is not stored.
   */
  get knownAt(): number | null {
    return !this.#isTooLarge && this.#isOfStored ? this.#indexedAt : null;
  }

  /** Whether the mempool does not fit: coins that it creates or spends are missing. */
  get isTooLarge(): boolean {
    return this.#isTooLarge;
  }

  get #isOfNow(): boolean {
    return this.#changesSeen.indexed === this.#changes;
  }

  /** Whether the mempool fits the stored coins: what a transaction spends is known, so no payment is counted twice. */
  get #isOfStored(): boolean {
    return this.#isOfNow && !this.#index.hasOrphans;
  }

  /** Whether stored coins changed and no look has begun since. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Milliseconds that the next look may take before the last one expires. */
  get patienceMs(): number {
    return LEAST_PATIENCE_MS + 2 * this.#lookMs;
  }

  /** Marks the overlay as outdated: stored coins change, or have just changed. */
  distrust(): void {
    this.#changes += 1;
    this.#isDue = true;
  }

  /** Number of mempool transactions that cannot be read: their spends are unknown. */
  get oddCount(): number {
    return this.#odd.size;
  }

  /** Number of mempool transactions that were read. */
  get size(): number {
    return this.#index.size - this.#leaving.size + this.#fresh.size;
  }

  /** Number that changes with each change of the overlay. */
  get version(): number {
    return this.#version;
  }

  /** Returns the mempool's effect on the coins of a script. Later looks do not change the result. */
  overlay(scriptHash: Buffer): MempoolOverlay {
    const version = this.#version;
    const isOfNow = () => this.#version === version && this.#isOfNow;
    const [wasOfStored, changes] = [this.#isOfStored, this.#changes];
    const isOfStored = () => wasOfStored && this.#changes === changes;
    return { ...this.#index.overlay(nameOf(scriptHash)), isOfNow, isOfStored };
  }

  /** Lists the mempool and drops transactions that left it. @returns the number of transactions to read */
  async list(signal: AbortSignal): Promise<number> {
    this.#beganAt = monotonicMs();
    this.#changesSeen.listed = this.#changes;
    this.#isDue = false;
    const all = await this.#looking(signal, () => this.#options.list(signal));
    if (this.#isUnchanged(all)) {
      this.#leaving = new Set();
      this.#fresh.clear();
      this.#noteLook();
      return 0;
    }
    const listed = new Set(all);
    this.#odd = this.#odd.intersection(listed);
    const gone = [...this.#index.txids].filter((txid) => !listed.has(txid));
    this.#leaving = this.#index.outdated(listed, gone).union(new Set(gone));
    this.#forgetFresh(listed);
    if (this.#isFirst) this.#change();
    this.#held = this.#index.coinCount + sumOf(this.#fresh.values()) - sumOf(this.#leavingTransactions());
    const isHeld = (txid: string) => this.#index.get(txid) !== undefined && !this.#leaving.has(txid);
    const missing = all.filter((txid) => !isHeld(txid) && !this.#fresh.has(txid) && !this.#odd.has(txid));
    this.#waiting = missing.slice(0, Math.max(0, MOST_TRANSACTIONS - this.size));
    this.#isTooLarge = this.#waiting.length < missing.length;
    return this.#goOn();
  }

  /** Reads the next batch of transactions and the owners of the coins that they spend. */
  async fetch(signal: AbortSignal): Promise<void> {
    this.#read = await this.#looking(signal, () => this.#fetch(signal));
  }

  /**
   * Runs a part of a look. After a failure nothing is known until a look succeeds. A look that was cancelled changes nothing: the
   * next one may be under way.
   */
  async #looking<T>(signal: AbortSignal, look: () => Promise<T>): Promise<T> {
    try {
      const result = await look();
      signal.throwIfAborted();
      return result;
    } catch (caught) {
      if (!signal.aborted) this.#indexedAt = null;
      throw caught;
    }
  }

  async #fetch(signal: AbortSignal): Promise<readonly WaitingTransaction[]> {
    const batch: { readonly transaction: RawTransaction; readonly outpoints: readonly Buffer[] }[] = [];
    let coins = 0;
    const room = Math.min(BATCH_COINS, this.#mostCoins - this.#held);
    for (let left = BATCH; left > 0 && coins < room && this.#waiting.length > 0; left -= PART) {
      const { found, odd } = await this.#options.read(this.#waiting.splice(-Math.min(PART, left)), signal);
      signal.throwIfAborted();
      this.#odd = this.#odd.union(new Set(odd));
      for (const bytes of found) {
        const transaction = readRawTransaction(bytes);
        const { outpoints } = transaction;
        transaction.visitOutputs(() => coins++);
        coins += outpoints.length;
        batch.push({ transaction, outpoints });
      }
    }
    const owners = await this.#options.coins()?.owners(batch.flatMap(({ outpoints }) => outpoints));
    const coinAt = new Map(
      owners?.map(({ outpoint, scriptHash, value }) => {
        const name = nameOf(outpoint);
        return [name, { name, script: nameOf(scriptHash), value }];
      })
    );
    return batch.map(({ transaction, outpoints }) => {
      const { txid } = transaction;
      const made = coinsOf(transaction).map(({ outpoint, scriptHash, value }) => ({
        name: nameOf(outpoint),
        script: nameOf(scriptHash),
        value
      }));
      const spent = outpoints.map((outpoint) => {
        const name = nameOf(outpoint);
        return { name, by: txid, coin: coinAt.get(name) ?? null };
      });
      return { txid, made, spent };
    });
  }

  /** Keeps the batch, and after the last one shows the whole look. @returns the number of transactions left to read */
  async save(): Promise<number> {
    for (const transaction of this.#read) this.#fresh.set(transaction.txid, transaction);
    this.#held += sumOf(this.#read);
    this.#read = [];
    // Nobody relies on the first look before it is whole, and millions of coins at once would keep the thread for seconds.
    if (this.#isFirst) this.#change();
    return this.#goOn();
  }

  /** Ends the look where nothing is left to read, or no more fits. */
  #goOn(): number {
    if (this.#held >= this.#mostCoins && this.#waiting.length > 0) {
      this.#waiting = [];
      this.#isTooLarge = true;
    }
    if (this.#waiting.length === 0) this.#show();
    return this.#waiting.length;
  }

  /** Shows the whole look at once. */
  #show(): void {
    this.#change();
    this.#noteLook();
  }

  /** Changes the index by what the look has found so far. */
  #change(): void {
    const [leaving, fresh] = [this.#leaving, [...this.#fresh.values()]];
    this.#leaving = new Set();
    this.#fresh.clear();
    if (leaving.size + fresh.length === 0) return;
    this.#index.change(leaving, fresh);
    this.#version++;
  }

  /** Whether no look has been whole yet. */
  get #isFirst(): boolean {
    return this.#changesSeen.indexed === -1;
  }

  /** Drops what a look that failed has read, where it waits no more, or where a block may have stored a coin that it spends. */
  #forgetFresh(listed: ReadonlySet<string>): void {
    for (const [txid, { spent }] of this.#fresh) {
      const isOutdated = spent.some(({ name, coin }) => coin === null && !listed.has(makerOf(name)));
      if (isOutdated || !listed.has(txid)) this.#fresh.delete(txid);
    }
  }

  *#leavingTransactions(): Generator<WaitingTransaction> {
    for (const txid of this.#leaving) yield this.#index.get(txid)!;
  }

  /** Returns whether the index has these transactions, and no stored coin has changed since they were shown. */
  #isUnchanged(all: readonly string[]): boolean {
    return (
      this.#indexedAt !== null &&
      this.#isOfNow &&
      all.length === this.#index.size + this.#odd.size &&
      all.every((txid) => this.#index.get(txid) !== undefined || this.#odd.has(txid))
    );
  }

  #noteLook(): void {
    this.#indexedAt = monotonicMs();
    this.#lookMs = this.#indexedAt - this.#beganAt;
    this.#changesSeen.indexed = this.#changesSeen.listed;
  }
}

function sumOf(transactions: Iterable<WaitingTransaction>): number {
  let coins = 0;
  for (const transaction of transactions) coins += coinCountOf(transaction);
  return coins;
}
