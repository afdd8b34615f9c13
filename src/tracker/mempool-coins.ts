import type { MempoolSteps } from '../chain/mempool-loop.ts';
import { monotonicMs } from '../chain/monotonic.ts';
import type { PresentTransactions } from '../coin/node/raw-chain.ts';
import { printId } from '../coin/raw/hash-id.ts';
import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { coinsOf } from './coins/changes.ts';
import type { CoinReader } from './coins/coin-reader.ts';

export interface MempoolCoinsOptions {
  /** Ids of all transactions in the node's mempool. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Those of these transactions that the node still has, and which of them cannot be read. */
  readonly read: (txids: readonly string[], signal: AbortSignal) => Promise<PresentTransactions>;
  /** Undefined while no database is open. */
  readonly coins: () => CoinReader | undefined;
}

/** A coin that a transaction of the mempool makes. */
export interface PendingCoin {
  readonly outpoint: Buffer;
  /** Base units. */
  readonly value: bigint;
}

/** What the mempool does to the coins of one script at a moment. */
export interface MempoolOverlay {
  /** Coins that it makes and does not spend, by name. */
  readonly pending: ReadonlyMap<string, PendingCoin>;
  /** Coins that were stored and that it spends: their values by name. */
  readonly spent: ReadonlyMap<string, bigint>;
  /** Whether it spends any coin of any script. */
  readonly spendsAny: boolean;
  /** Whether it spends the coin at this place. */
  readonly spends: (outpoint: Buffer) => boolean;
}

interface Transaction {
  /** By the name of their outpoints; a script is named by the hex of its hash. */
  readonly made: ReadonlyMap<string, PendingCoin & { readonly script: string }>;
  /** By the name of the outpoint; null: of a coin that is not stored. */
  readonly spent: ReadonlyMap<string, { readonly script: string; readonly value: bigint } | null>;
}

const ID_BYTES = 32;
const BATCH = 500;
/** A look at a small mempool takes milliseconds; a busy machine, seconds. */
const LEAST_PATIENCE_MS = 5_000;
/** Transactions that are held in memory; with more the overlay counts as incomplete. */
const MAX_TRANSACTIONS = 300_000;
const NO_COINS: ReadonlyMap<string, PendingCoin> = new Map();
const NO_SPENDS: ReadonlyMap<string, bigint> = new Map();

/** The name of an outpoint in maps. */
export const nameOf = (outpoint: Buffer): string => outpoint.toString('latin1');
/** The outpoint of a name. */
export const outpointOf = (name: string): Buffer => Buffer.from(name, 'latin1');

/** What the mempool makes of and does to the coins of each script, in memory. */
export class MempoolCoins implements MempoolSteps {
  readonly #options: MempoolCoinsOptions;
  readonly #transactions = new Map<string, Transaction>();
  readonly #pending = new Map<string, Map<string, PendingCoin>>();
  readonly #spent = new Map<string, Map<string, bigint>>();
  #spentNames: ReadonlySet<string> = new Set();
  #waiting: string[] = [];
  #read: Map<string, Transaction> = new Map();
  #odd: ReadonlySet<string> = new Set();
  #isWhole = false;
  #indexedAt: number | null = null;
  /** A look takes so long; a hanging one ends what the last one told. */
  #lookMs = 0;
  #beganAt = 0;
  /** Changes of the stored coins, and how many of them the looks under way and done began with. */
  #changes = 0;
  #isDue = false;
  #changesSeen = { listed: -1, indexed: -1 };
  #version = 0;

  constructor(options: MempoolCoinsOptions) {
    this.#options = options;
  }

  /**
   * When the whole mempool was last known, as monotonicMs() tells it; null: never since the start, it does not fit, the last look failed,
   * or stored coins changed since it began.
   */
  get knownAt(): number | null {
    const isOfNow = this.#changesSeen.indexed === this.#changes;
    return this.#isWhole && isOfNow ? this.#indexedAt : null;
  }

  /** Stored coins changed, and no look has begun since. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** How long the next look may take before the last one counts no more. */
  get patienceMs(): number {
    return LEAST_PATIENCE_MS + 2 * this.#lookMs;
  }

  /** Stored coins change, or have just changed: what was seen counts no more. */
  distrust(): void {
    this.#changes += 1;
    this.#isDue = true;
  }

  /** Transactions of the mempool that cannot be read: what they do to coins is not known. */
  get oddCount(): number {
    return this.#odd.size;
  }

  /** Transactions of the mempool that were read. */
  get size(): number {
    return this.#transactions.size;
  }

  /** Another one after each change of what it tells. */
  get version(): number {
    return this.#version;
  }

  /** What the mempool does to the coins of a script, as of now: later looks do not change it. */
  overlay(scriptHash: Buffer): MempoolOverlay {
    const [script, names] = [scriptHash.toString('hex'), this.#spentNames];
    return {
      pending: this.#pending.get(script) ?? NO_COINS,
      spent: this.#spent.get(script) ?? NO_SPENDS,
      spendsAny: names.size > 0,
      spends: (outpoint) => names.has(nameOf(outpoint))
    };
  }

  async list(signal: AbortSignal): Promise<number> {
    this.#beganAt = monotonicMs();
    this.#changesSeen.listed = this.#changes;
    this.#isDue = false;
    const all = await this.#looking(() => this.#options.list(signal));
    this.#isWhole = all.length <= MAX_TRANSACTIONS;
    const present = new Set(all.slice(0, MAX_TRANSACTIONS));
    for (const txid of this.#transactions.keys()) if (!present.has(txid)) this.#transactions.delete(txid);
    this.#forgetUnowned(new Set(all));
    this.#odd = this.#odd.intersection(present);
    this.#waiting = [...present].filter((txid) => !this.#transactions.has(txid) && !this.#odd.has(txid));
    if (this.#waiting.length === 0) this.#index();
    return this.#waiting.length;
  }

  async fetch(signal: AbortSignal): Promise<void> {
    await this.#looking(() => this.#fetch(signal));
  }

  /** After a failed look nothing is known until one goes well. */
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

  async save(): Promise<number> {
    for (const [txid, transaction] of this.#read) this.#transactions.set(txid, transaction);
    this.#read = new Map();
    if (this.#waiting.length === 0) this.#index();
    return this.#waiting.length;
  }

  /** A coin that the mempool made and spent is stored once a block has it: its spender is read again, to find its owner. */
  #forgetUnowned(all: ReadonlySet<string>): void {
    for (const [txid, { spent }] of this.#transactions) {
      const isUnowned = [...spent].some(([name, owner]) => owner === null && !all.has(makerOf(name)));
      if (isUnowned) this.#transactions.delete(txid);
    }
  }

  /** Makes the maps anew from the transactions: what one look sees is shown at once. */
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
    this.#indexedAt = monotonicMs();
    this.#lookMs = this.#indexedAt - this.#beganAt;
    this.#changesSeen.indexed = this.#changesSeen.listed;
    this.#version++;
  }
}

/** Id of the transaction that makes the coin of this name. */
const makerOf = (name: string): string => printId(Buffer.from(name.slice(0, ID_BYTES), 'latin1'));

function within<Value>(maps: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  const known = maps.get(key) ?? new Map<string, Value>();
  maps.set(key, known);
  return known;
}
