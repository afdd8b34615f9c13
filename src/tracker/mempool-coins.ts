import type { MempoolSteps } from '../chain/mempool-loop.ts';
import { monotonicMs } from '../chain/monotonic.ts';
import type { PresentTransactions } from '../coin/node/raw-chain.ts';
import { printId } from '../coin/raw/hash-id.ts';
import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { coinsOf } from './coins/changes.ts';
import type { CoinReader } from './coins/coin-reader.ts';

/** Sources of the mempool's coins. */
interface MempoolCoinsOptions {
  /** Returns the ids of all transactions in the node's mempool. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Returns those of the transactions that the node still has, and those that cannot be read. */
  readonly read: (txids: readonly string[], signal: AbortSignal) => Promise<PresentTransactions>;
  /** Returns undefined while no database is open. */
  readonly coins: () => CoinReader | undefined;
}

/** A coin that a mempool transaction creates. */
export interface PendingCoin {
  readonly outpoint: Buffer;
  /** Base units. */
  readonly value: bigint;
}

/** Coins of a script that the mempool creates and does not spend, where they are too many to be looked up for each question. */
interface ManyPending {
  /** Base units of all of them. */
  readonly value: bigint;
  /** The largest of them, largest first. */
  readonly largest: readonly PendingCoin[];
}

/** Effect of the mempool on the coins of one script, at one moment. */
export interface MempoolOverlay {
  /** Coins that it creates and does not spend, by name. */
  readonly pending: ReadonlyMap<string, PendingCoin>;
  /** Values of stored coins that it spends, by name. */
  readonly spent: ReadonlyMap<string, bigint>;
  /** Sums of `pending`, and of the values of `spent`, made with the last look; null where they have MANY_COINS at most. */
  readonly manyPending: ManyPending | null;
  readonly manySpent: bigint | null;
  /** Returns whether no stored coin has changed since the look. */
  readonly isOfNow: () => boolean;
  /** Whether it spends any coin of any script. */
  readonly spendsAny: boolean;
  /** Returns whether it spends the coin at this outpoint. */
  readonly spends: (outpoint: Buffer) => boolean;
}

interface Transaction {
  /** Created coins by the name of their outpoints. A script is named by the hex of its hash. */
  readonly made: ReadonlyMap<string, PendingCoin & { readonly script: string }>;
  /** Spent coins by the name of the outpoint; null for a coin that is not stored. */
  readonly spent: ReadonlyMap<string, { readonly script: string; readonly value: bigint } | null>;
}

const ID_BYTES = 32;
const BATCH = 500;
/** Least patience: a look at a small mempool takes milliseconds, on a busy machine seconds. */
const LEAST_PATIENCE_MS = 5_000;
/** Most transactions in memory. With more the overlay counts as incomplete. */
const MAX_TRANSACTIONS = 300_000;
/** Most coins of a script that are looked up among the stored ones for each question: strangers choose how many wait. */
const MANY_COINS = 2_000;
/** Most coins of a script that are listed of so many. */
const MOST_LISTED = 20_000;
const NO_COINS: ReadonlyMap<string, PendingCoin> = new Map();
const NO_SPENDS: ReadonlyMap<string, bigint> = new Map();

/** Returns the name of an outpoint in maps. */
export const nameOf = (outpoint: Buffer): string => outpoint.toString('latin1');
/** Returns the outpoint of a name. */
export const outpointOf = (name: string): Buffer => Buffer.from(name, 'latin1');

/** Coins that the mempool creates and spends, by script, in memory. */
export class MempoolCoins implements MempoolSteps {
  readonly #options: MempoolCoinsOptions;
  readonly #transactions = new Map<string, Transaction>();
  readonly #pending = new Map<string, Map<string, PendingCoin>>();
  readonly #spent = new Map<string, Map<string, bigint>>();
  readonly #manyPending = new Map<string, ManyPending>();
  readonly #manySpent = new Map<string, bigint>();
  #spentNames: ReadonlySet<string> = new Set();
  #waiting: string[] = [];
  #read: Map<string, Transaction> = new Map();
  #odd: ReadonlySet<string> = new Set();
  #isWhole = false;
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
  }

  /**
   * Monotonic time at which the whole mempool was last known. Null when it never was, does not fit, the last look
   * failed, or stored coins changed since the look began.
   */
  get knownAt(): number | null {
    return this.#isWhole && this.#isOfNow ? this.#indexedAt : null;
  }

  get #isOfNow(): boolean {
    return this.#changesSeen.indexed === this.#changes;
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
    return this.#transactions.size;
  }

  /** Number that changes with each change of the overlay. */
  get version(): number {
    return this.#version;
  }

  /** Returns the mempool's effect on the coins of a script. Later looks do not change the result. */
  overlay(scriptHash: Buffer): MempoolOverlay {
    const [script, names, version] = [scriptHash.toString('hex'), this.#spentNames, this.#version];
    return {
      pending: this.#pending.get(script) ?? NO_COINS,
      spent: this.#spent.get(script) ?? NO_SPENDS,
      manyPending: this.#manyPending.get(script) ?? null,
      manySpent: this.#manySpent.get(script) ?? null,
      isOfNow: () => this.#version === version && this.#isOfNow,
      spendsAny: names.size > 0,
      spends: (outpoint) => names.has(nameOf(outpoint))
    };
  }

  /** Lists the mempool and drops transactions that left it. @returns the number of transactions to read */
  async list(signal: AbortSignal): Promise<number> {
    this.#beganAt = monotonicMs();
    this.#changesSeen.listed = this.#changes;
    this.#isDue = false;
    const all = await this.#looking(() => this.#options.list(signal));
    this.#isWhole = all.length <= MAX_TRANSACTIONS;
    if (this.#isUnchanged(all)) {
      this.#noteLook();
      return 0;
    }
    const present = new Set(all.slice(0, MAX_TRANSACTIONS));
    for (const txid of this.#transactions.keys()) if (!present.has(txid)) this.#transactions.delete(txid);
    this.#forgetUnowned(new Set(all));
    this.#odd = this.#odd.intersection(present);
    this.#waiting = [...present].filter((txid) => !this.#transactions.has(txid) && !this.#odd.has(txid));
    if (this.#waiting.length === 0) this.#index();
    return this.#waiting.length;
  }

  /** Reads the next batch of transactions and the owners of the coins that they spend. */
  async fetch(signal: AbortSignal): Promise<void> {
    await this.#looking(() => this.#fetch(signal));
  }

  /** Runs a part of a look. After a failure nothing is known until a look succeeds. */
  async #looking<T>(look: () => Promise<T>): Promise<T> {
    try {
      return await look();
    } catch (caught) {
      this.#indexedAt = null;
      throw caught;
    }
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH);
    const { found, odd } = await this.#options.read(batch, signal);
    this.#odd = this.#odd.union(new Set(odd));
    const transactions = found.map((bytes) => readRawTransaction(bytes));
    const spends = transactions.flatMap(({ outpoints }) => outpoints);
    const owners = new Map(
      (await this.#options.coins()?.owners(spends))?.map(({ outpoint, scriptHash, value }) => [
        nameOf(outpoint),
        { script: scriptHash.toString('hex'), value }
      ])
    );
    this.#read = new Map(
      transactions.map((transaction) => {
        const made = coinsOf(transaction).map(({ outpoint, scriptHash, value }) => {
          const coin = { outpoint: Buffer.from(outpoint), value, script: scriptHash.toString('hex') };
          return [nameOf(outpoint), coin] as const;
        });
        const spent = transaction.outpoints.map((outpoint) => {
          const name = nameOf(outpoint);
          return [name, owners.get(name) ?? null] as const;
        });
        return [transaction.txid, { made: new Map(made), spent: new Map(spent) }];
      })
    );
  }

  /** Keeps the batch, and after the last one shows the whole look. @returns the number of transactions left to read */
  async save(): Promise<number> {
    for (const [txid, transaction] of this.#read) this.#transactions.set(txid, transaction);
    this.#read = new Map();
    if (this.#waiting.length === 0) this.#index();
    return this.#waiting.length;
  }

  /** Drops transactions that spend a coin which a block has stored since: reading them again finds its owner. */
  #forgetUnowned(all: ReadonlySet<string>): void {
    for (const [txid, { spent }] of this.#transactions) {
      const isUnowned = [...spent].some(([name, owner]) => owner === null && !all.has(makerOf(name)));
      if (isUnowned) this.#transactions.delete(txid);
    }
  }

  /** Builds the maps from all transactions, so that a look is shown at once. */
  #index(): void {
    this.#pending.clear();
    this.#spent.clear();
    const spentNames = new Set([...this.#transactions.values()].flatMap(({ spent }) => [...spent.keys()]));
    this.#spentNames = spentNames;
    for (const { made, spent } of this.#transactions.values()) {
      for (const [name, { script, outpoint, value }] of made)
        if (!spentNames.has(name)) within(this.#pending, script).set(name, { outpoint, value });
      for (const [name, owner] of spent) {
        const isStored = owner !== null && !this.#transactions.has(makerOf(name)); // a reorg may have brought its maker back
        if (isStored) within(this.#spent, owner.script).set(name, owner.value);
      }
    }
    this.#sumUp();
    this.#noteLook();
    this.#version++;
  }

  /** Returns whether the maps are those of these transactions, and no stored coin has changed since they were built. */
  #isUnchanged(all: readonly string[]): boolean {
    return (
      this.#indexedAt !== null &&
      this.#isOfNow &&
      all.length === this.#transactions.size + this.#odd.size &&
      all.every((txid) => this.#transactions.has(txid) || this.#odd.has(txid))
    );
  }

  #noteLook(): void {
    this.#indexedAt = monotonicMs();
    this.#lookMs = this.#indexedAt - this.#beganAt;
    this.#changesSeen.indexed = this.#changesSeen.listed;
  }

  /** Sums up what is too much to be walked for each question. */
  #sumUp(): void {
    this.#manyPending.clear();
    this.#manySpent.clear();
    for (const [script, coins] of this.#pending) {
      if (coins.size <= MANY_COINS) continue;
      const all = [...coins.values()].sort((a, b) => Number(b.value - a.value));
      this.#manyPending.set(script, {
        value: sumOf(all.map(({ value }) => value)),
        largest: all.slice(0, MOST_LISTED)
      });
    }
    for (const [script, coins] of this.#spent)
      if (coins.size > MANY_COINS) this.#manySpent.set(script, sumOf([...coins.values()]));
  }
}

const sumOf = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n);

/** Returns the id of the transaction that creates the coin of this name. */
const makerOf = (name: string): string => printId(Buffer.from(name.slice(0, ID_BYTES), 'latin1'));

function within<Value>(maps: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  const known = maps.get(key) ?? new Map<string, Value>();
  maps.set(key, known);
  return known;
}
