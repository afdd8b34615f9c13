import { printId } from '../coin/raw/hash-id.ts';
import { HASH_BYTES } from './coins/records.ts';

/** A coin that a waiting transaction creates, or a stored one that it spends. Millions are kept: no field is an object. */
export interface WaitingCoin {
  /** Its outpoint. @see nameOf */
  readonly name: string;
  /** SHA-256 of its script. @see nameOf */
  readonly script: string;
  /** Base units. */
  readonly value: bigint;
}

/** An input of a waiting transaction. */
interface Spend {
  /** The outpoint that it spends. */
  readonly name: string;
  /** Id of the transaction. */
  readonly by: string;
  /** Null where the coin is not stored. */
  readonly coin: WaitingCoin | null;
}

/** A transaction of the mempool. */
export interface WaitingTransaction {
  readonly txid: string;
  readonly made: readonly WaitingCoin[];
  readonly spent: readonly Spend[];
}

/** Coins of a script that the mempool creates and does not spend, where they are too many to be looked up for each question. */
interface ManyPending {
  /** Base units of all of them. */
  readonly value: bigint;
  /** The largest of them. */
  readonly largest: readonly WaitingCoin[];
}

/** Effect of the mempool on the coins of one script, at one moment. */
export interface ScriptOverlay {
  /** Coins that it creates and does not spend. */
  readonly pending: readonly WaitingCoin[];
  /** Stored coins that it spends. */
  readonly spent: readonly WaitingCoin[];
  /** Sums of `pending`, and of the values of `spent`; null where they have MANY_COINS at most. */
  readonly manyPending: ManyPending | null;
  readonly manySpent: bigint | null;
  /** Whether it spends any coin of any script. */
  readonly spendsAny: boolean;
  /** Returns whether it spends the coin at this outpoint. */
  readonly spends: (outpoint: Buffer) => boolean;
}

/** A state of the spent outpoints. An older state is the newest one, corrected by the changes since. */
interface Moment {
  /** Outpoints that the next change touched, and whether they were spent before it. */
  was: ReadonlyMap<string, boolean>;
  /** Null in the newest state. */
  next: Moment | null;
}

/** Most coins of a script that are looked up among the stored ones for each question: strangers choose how many wait. */
const MANY_COINS = 2_000;
/** Most coins of a script that are listed of so many. */
const MOST_LISTED = 20_000;
const NONE: readonly WaitingCoin[] = [];

/** Returns the text of an outpoint or a hash, for maps. */
export const nameOf = (bytes: Buffer): string => bytes.toString('latin1');
/** Returns the bytes of a name. */
export const bytesOf = (name: string): Buffer => Buffer.from(name, 'latin1');
/** Returns the id of the transaction that creates the coin of this name. */
export const makerOf = (name: string): string => printId(bytesOf(name.slice(0, HASH_BYTES)));

/** Counts the inputs and spendable outputs of a transaction. */
export const coinCountOf = ({ made, spent }: WaitingTransaction): number => made.length + spent.length;

/**
 * Keeps the coins that waiting transactions create and spend, by script. A change costs what comes and goes, not what stays.
 */
export class MempoolIndex {
  readonly #transactions = new Map<string, WaitingTransaction>();
  readonly #made = new Map<string, WaitingCoin>();
  readonly #spends = new Map<string, Spend>();
  /** Inputs whose coin is neither stored nor created by a transaction of the index. */
  readonly #unowned = new Map<string, Spend>();
  /** Coins by script. A list is replaced, never changed: an overlay may hold it. */
  readonly #pending = new Map<string, readonly WaitingCoin[]>();
  readonly #spent = new Map<string, readonly WaitingCoin[]>();
  readonly #manyPending = new WeakMap<readonly WaitingCoin[], ManyPending>();
  readonly #manySpent = new WeakMap<readonly WaitingCoin[], bigint>();
  #moment: Moment = { was: new Map(), next: null };
  #coinCount = 0;

  /** Number of transactions. */
  get size(): number {
    return this.#transactions.size;
  }

  /** Number of their inputs and spendable outputs. */
  get coinCount(): number {
    return this.#coinCount;
  }

  get txids(): Iterable<string> {
    return this.#transactions.keys();
  }

  get(txid: string): WaitingTransaction | undefined {
    return this.#transactions.get(txid);
  }

  /** Whether a transaction spends a coin that is not stored, and whose maker waits no more: a block that the node has made it. */
  get hasOrphans(): boolean {
    return this.#unowned.size > 0;
  }

  /**
   * Returns the ids of transactions to read again: they spend a coin that was not stored, and whose maker waits no more, so that a
   * block may have stored it.
   *
   * @param listed ids of all transactions that wait
   * @param gone ids of those of the index that do not
   */
  outdated(listed: ReadonlySet<string>, gone: readonly string[]): Set<string> {
    const spends = gone.flatMap((txid) => this.get(txid)!.made.map(({ name }) => this.#spends.get(name)));
    const orphans = [...this.#unowned.values()].filter(({ name }) => !listed.has(makerOf(name)));
    const found = [...spends, ...orphans].flatMap((spend) => (spend && spend.coin === null ? [spend.by] : []));
    return new Set(found.filter((txid) => listed.has(txid)));
  }

  /** Removes transactions by their ids, and adds or replaces others. Overlays of before stay as they are. */
  change(removed: ReadonlySet<string>, added: readonly WaitingTransaction[]): void {
    const replaced = removed.union(new Set(added.map(({ txid }) => txid)));
    const leaving = [...replaced].flatMap((txid) => this.get(txid) ?? []);
    const touched = new Set<string>();
    const was = new Map<string, boolean>();
    for (const { made, spent } of [...leaving, ...added]) {
      for (const { name } of made) touched.add(name);
      for (const { name } of spent) was.set(name, this.#spends.has(name));
    }
    for (const name of was.keys()) touched.add(name);
    const before = this.#placesOf(touched);
    for (const transaction of leaving) this.#remove(transaction);
    for (const transaction of added) this.#add(transaction);
    const after = this.#placesOf(touched);
    replace(this.#pending, before.pending, after.pending);
    replace(this.#spent, before.spent, after.spent);
    for (const name of touched) this.#noteOwner(name);
    const next: Moment = { was: new Map(), next: null };
    Object.assign(this.#moment, { was, next });
    this.#moment = next;
  }

  /** Returns the effect on a script. @param script name of its hash */
  overlay(script: string): ScriptOverlay {
    const [pending, spent] = [this.#pending.get(script) ?? NONE, this.#spent.get(script) ?? NONE];
    const moment = this.#moment;
    return {
      pending,
      spent,
      manyPending: pending.length > MANY_COINS ? kept(this.#manyPending, pending, manyOf) : null,
      manySpent: spent.length > MANY_COINS ? kept(this.#manySpent, spent, sumOf) : null,
      spendsAny: this.#spends.size > 0,
      spends: (outpoint) => this.#wasSpent(moment, nameOf(outpoint))
    };
  }

  #wasSpent(moment: Moment, name: string): boolean {
    for (let at = moment; at.next; at = at.next) {
      const was = at.was.get(name);
      if (was !== undefined) return was;
    }
    return this.#spends.has(name);
  }

  #add(transaction: WaitingTransaction): void {
    this.#transactions.set(transaction.txid, transaction);
    this.#coinCount += coinCountOf(transaction);
    for (const coin of transaction.made) this.#made.set(coin.name, coin);
    for (const spend of transaction.spent) this.#spends.set(spend.name, spend);
  }

  #remove(transaction: WaitingTransaction): void {
    this.#transactions.delete(transaction.txid);
    this.#coinCount -= coinCountOf(transaction);
    for (const { name } of transaction.made) this.#made.delete(name);
    for (const { name } of transaction.spent) this.#spends.delete(name);
  }

  /** Returns the coins of some outpoints that are pending, and those that are stored and spent. */
  #placesOf(names: Iterable<string>) {
    const pending: WaitingCoin[] = [];
    const spent: WaitingCoin[] = [];
    for (const name of names) {
      const [made, spend] = [this.#made.get(name), this.#spends.get(name)];
      if (made && !spend) pending.push(made);
      // After a reorg, the maker of a coin that was stored may wait again.
      if (!made && spend?.coin) spent.push(spend.coin);
    }
    return { pending, spent };
  }

  #noteOwner(name: string): void {
    const spend = this.#spends.get(name);
    if (spend?.coin === null && !this.#made.has(name)) this.#unowned.set(name, spend);
    else this.#unowned.delete(name);
  }
}

/** Replaces the lists of the scripts whose coins come or go. */
function replace(
  lists: Map<string, readonly WaitingCoin[]>,
  before: readonly WaitingCoin[],
  after: readonly WaitingCoin[]
): void {
  const [leaving, coming] = [new Set(before), Map.groupBy(after, ({ script }) => script)];
  for (const script of new Set([...before, ...after].map((coin) => coin.script))) {
    const staying = lists.get(script)?.filter((coin) => !leaving.has(coin)) ?? [];
    const coins = staying.concat(coming.get(script) ?? []);
    if (coins.length > 0) lists.set(script, coins);
    else lists.delete(script);
  }
}

function kept<Value>(
  cache: WeakMap<readonly WaitingCoin[], Value>,
  coins: readonly WaitingCoin[],
  make: (coins: readonly WaitingCoin[]) => Value
): Value {
  const value = cache.get(coins) ?? make(coins);
  cache.set(coins, value);
  return value;
}

const sumOf = (coins: readonly WaitingCoin[]): bigint => coins.reduce((sum, { value }) => sum + value, 0n);

/** Adds coins up and finds the largest, without sorting a million objects. */
function manyOf(coins: readonly WaitingCoin[]): ManyPending {
  const values = Float64Array.from(coins, ({ value }) => Number(value)).sort();
  const least = values[Math.max(0, values.length - MOST_LISTED)]!;
  const above = coins.filter(({ value }) => Number(value) > least);
  const equal = coins.filter(({ value }) => Number(value) === least);
  return { value: sumOf(coins), largest: above.concat(equal.slice(0, MOST_LISTED - above.length)) };
}
