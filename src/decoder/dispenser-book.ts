import { DEFAULT_TERM_S, MAX_DISPENSES, MAX_REFILLS } from '../coin/action/dispenser.ts';
import type { DispenserRows } from './dispenser-action.ts';
import { DueQueue } from './due-queue.ts';
import { MedianClock } from './median-clock.ts';
import { Till } from './till.ts';

/** A row of `dispensers`, its names spelled out. */
export interface Dispenser {
  readonly txIndex: number;
  /** Where it takes payments. */
  readonly address: string;
  readonly oracleAddress: string | null;
  readonly source: string;
  /** Unix seconds, as it was opened; edits may extend it. */
  readonly expiration: number;
  /** The block before which it ended; null while it is open. */
  readonly expiredAt: number | null;
  /** What the dispensers ask that its transaction opened at the address, the cheapest first; they are one here. */
  readonly prices: readonly Price[];
}

/** Dispensers of one transaction at one address that ask the same. */
export interface Price {
  /** The least payment that they may serve, in base units. */
  readonly least: bigint;
  readonly dispensers: number;
  /** Stored payments that count and reach this price, and no higher one of the transaction. */
  readonly payments: number;
}

/** Asks a longer time for all dispensers of an address, or at it. */
export interface Extension {
  readonly height: number;
  readonly address: string;
  /** Unix seconds. */
  readonly expiration: number;
}

/** What a book begins with. */
export interface BookState {
  readonly dispensers: Iterable<Dispenser>;
  readonly extensions: Iterable<Extension>;
  /** At the newest block. */
  readonly clock: MedianClock;
}

/** What changed since the last look. */
export interface DispenserChanges {
  /** New ones and closed ones, as they stand. */
  readonly rows: readonly Dispenser[];
  readonly extensions: readonly Extension[];
  /** Payments that were counted, by block, dispenser and price. */
  readonly payments: readonly Counted[];
  /** What no rollback brings back: rows that ended so long ago, and what addresses without any asked for up to a height. */
  readonly forgotten: { readonly rows: readonly Dispenser[]; readonly extensions: readonly Extension[] };
}

/** Payments of a block that were counted. */
export interface Counted {
  readonly height: number;
  readonly dispenser: Pick<Dispenser, 'txIndex' | 'address'>;
  readonly least: bigint;
  readonly count: number;
}

/** What a transaction does to dispensers, and where it stands. */
export interface DispenserTransaction {
  readonly txIndex: number;
  readonly source: string;
  readonly dispensers: DispenserRows;
}

/** Blocks after which no rollback opens again what expired. */
export const KEPT_BLOCKS = 126;
/** Payments that a ledger answers for one dispenser: what it may serve at most. */
export const MAX_PAYMENTS = MAX_DISPENSES * (1 + MAX_REFILLS);

/**
 * The dispensers of a chain, block after block and transaction after transaction: which ones may serve a payment now.
 *
 * A ledger refuses some of them, for reasons that are not known here. So a dispenser stays open for as long as any ledger may have it
 * open: edits only extend it, and it ends by the median time of blocks, as ledgers count: the first block whose median is above its
 * expiration may still cancel it, and then it sells for an hour from that median. What was opened at an address of somebody else costs
 * no more than a ledger would serve: it ends after so many payments. Of several dispensers of one transaction, a payment is
 * known to ask one of those that it can pay: the cheapest ones end once there were as many payments that could pay no dearer one.
 */
export class DispenserBook {
  readonly #rows = new Map<string, Dispenser>();
  /** Keys of open rows by the address at which they take payments. */
  readonly #open = new Map<string, Till>();
  /** How many rows there are by the address at which they take payments, and those addresses; undefined: to be listed anew. */
  readonly #tills = new Map<string, number>();
  #addresses: readonly string[] | undefined;
  /** Open rows by a time that ends none of them, closed ones by the block that closed them, addresses without rows by their extension. */
  readonly #ending = new DueQueue();
  readonly #closed = new DueQueue();
  readonly #unused = new DueQueue();
  /** How many rows name an address as source or till. */
  readonly #parties = new Map<string, number>();
  /** The latest time that an address asked for. */
  readonly #extended = new Map<string, Extension>();
  readonly #limitFrom: number;
  readonly #clock: MedianClock;
  #changed = new Set<string>();
  #extensions: Extension[] = [];
  #payments = new Map<string, Counted>();
  #forgotten: { rows: Dispenser[]; extensions: Extension[] } = { rows: [], extensions: [] };
  #height = 0;

  /** @param limitFrom  first block whose payments count against MAX_PAYMENTS, as in ledgers */
  constructor(
    { dispensers = [], extensions = [], clock = new MedianClock() }: Partial<BookState> = {},
    limitFrom = Number.POSITIVE_INFINITY
  ) {
    this.#limitFrom = limitFrom;
    this.#clock = clock;
    for (const row of dispensers) this.#put(row);
    for (const extension of extensions) this.#extend(extension);
    for (const address of this.#extended.keys()) this.#noteUnused(address);
  }

  /** Addresses of all that take payments, or may do so again after a rollback. The same list while they are the same. */
  addresses(): readonly string[] {
    this.#addresses ??= [...this.#tills.keys()];
    return this.#addresses;
  }

  /** Whether a payment to an address may be served. */
  isTaken(address: string, amount: bigint): boolean {
    return this.#taker(address, amount) !== undefined;
  }

  /** The same for a payment that is stored. It counts for the oldest that may serve it, which a ledger asks first. */
  take(address: string, amount: bigint): boolean {
    const key = this.#taker(address, amount);
    if (key === undefined) return false;
    if (this.#height < this.#limitFrom) return true;
    const row = this.#rows.get(key)!;
    const { txIndex, prices: before } = row;
    const { least } = before.findLast((price) => price.least <= amount)!;
    const prices = before.map((price) => (price.least === least ? { ...price, payments: price.payments + 1 } : price));
    const isSpent = unspent(prices).length === 0;
    this.#put({ ...row, prices, expiredAt: isSpent ? this.#height : null });
    if (isSpent) this.#changed.add(key);
    const place = `${this.#height} ${key} ${least}`;
    const count = (this.#payments.get(place)?.count ?? 0) + 1;
    this.#payments.set(place, { height: this.#height, dispenser: { txIndex, address }, least, count });
    return true;
  }

  /** Begins a block: what a ledger closed at the end of the one below is closed. */
  enter(height: number, time: number): void {
    const over = this.#clock.aged;
    this.#height = height;
    this.#clock.add(time);
    this.#forget();
    for (const key of this.#ending.take(over - 1)) {
      const row = this.#rows.get(key);
      if (!row || row.expiredAt !== null) continue;
      const end = this.#endOf(row);
      if (end < over) this.#change({ ...row, expiredAt: height });
      else this.#ending.add(end, key);
    }
  }

  /** Opens and extends what a transaction of the block says. */
  apply({ txIndex, source, dispensers: { opened, extendedTo } }: DispenserTransaction): void {
    const now = this.#clock.newest;
    for (const { address, oracleAddress, expiration, least } of opened) {
      const till = { txIndex, address: address ?? source };
      const prices = [{ least, dispensers: 1, payments: 0 }];
      const row = { ...till, oracleAddress, source, expiration: expiration ?? now + DEFAULT_TERM_S, prices };
      if (row.expiration > now) this.#change(merge(this.#rows.get(keyOf(row)), { ...row, expiredAt: null }));
    }
    if (extendedTo === null || extendedTo <= Math.max(now, this.#extendedTo(source))) return;
    if (!this.#parties.has(source)) return; // it has nothing to extend
    const extension = { height: this.#height, address: source, expiration: extendedTo };
    this.#extend(extension);
    this.#extensions.push(extension);
  }

  takeChanges(): DispenserChanges {
    const changes = {
      rows: [...this.#changed].map((key) => this.#rows.get(key)!),
      extensions: this.#extensions,
      payments: [...this.#payments.values()],
      forgotten: this.#forgotten
    };
    this.#changed = new Set();
    this.#extensions = [];
    this.#payments = new Map();
    this.#forgotten = { rows: [], extensions: [] };
    return changes;
  }

  /** Forgets what no rollback brings back: block by block, so that decoders that write many at once keep the same. */
  #forget(): void {
    const oldest = this.#height - KEPT_BLOCKS;
    for (const key of this.#closed.take(oldest)) {
      const row = this.#rows.get(key);
      if (row && row.expiredAt !== null && row.expiredAt <= oldest) this.#drop(row);
    }
    for (const address of this.#unused.take(oldest)) {
      const extension = this.#extended.get(address);
      if (!extension || extension.height > oldest || this.#parties.has(address)) continue;
      const { height } = extension;
      this.#extended.delete(address);
      this.#extensions = this.#extensions.filter((other) => other.address !== address || other.height > height);
      this.#forgotten.extensions.push(extension);
    }
  }

  #drop(row: Dispenser): void {
    const key = keyOf(row);
    this.#rows.delete(key);
    this.#changed.delete(key);
    for (const [place, { dispenser }] of this.#payments) if (keyOf(dispenser) === key) this.#payments.delete(place);
    for (const party of [row.source, row.address]) {
      count(this.#parties, party, -1);
      this.#noteUnused(party);
    }
    if (count(this.#tills, row.address, -1) === 0) this.#addresses = undefined;
    this.#forgotten.rows.push(row);
  }

  /** What an address without rows asked for is forgotten when no rollback takes it back. */
  #noteUnused(address: string): void {
    const extension = this.#extended.get(address);
    if (extension && !this.#parties.has(address)) this.#unused.add(extension.height, address);
  }

  #taker(address: string, amount: bigint): string | undefined {
    return this.#open.get(address)?.oldestFor(amount);
  }

  /** The latest time that anybody asked for: a ledger lets the opener and the till's owner edit a dispenser. */
  #endOf({ expiration, source, address }: Dispenser): number {
    return Math.max(expiration, this.#extendedTo(source), this.#extendedTo(address));
  }

  #extendedTo(address: string): number {
    return this.#extended.get(address)?.expiration ?? 0;
  }

  #extend(extension: Extension): void {
    if (extension.expiration >= this.#extendedTo(extension.address)) this.#extended.set(extension.address, extension);
  }

  #change(row: Dispenser): void {
    this.#put(row);
    this.#changed.add(keyOf(row));
  }

  #put(row: Dispenser): void {
    const key = keyOf(row);
    const { address, source, expiredAt } = row;
    const before = this.#rows.get(key);
    this.#rows.set(key, row);
    if (!before) {
      for (const party of [source, address]) count(this.#parties, party, 1);
      if (count(this.#tills, address, 1) === 1) this.#addresses = undefined;
    }
    const [wasOpen, isOpen] = [before?.expiredAt === null, expiredAt === null];
    const till = this.#open.get(address) ?? new Till();
    if (isOpen) this.#open.set(address, till);
    const [cheapest] = unspent(row.prices);
    if (isOpen && cheapest) till.set(key, cheapest.least);
    else till.delete(key);
    if (till.isEmpty) this.#open.delete(address);
    if (isOpen && !wasOpen) this.#ending.add(row.expiration, key);
    if (expiredAt !== null && before?.expiredAt !== expiredAt) this.#closed.add(expiredAt, key);
  }
}

/** Adds to a count. @returns it; 0 has no entry */
function count(counts: Map<string, number>, name: string, change: number): number {
  const now = (counts.get(name) ?? 0) + change;
  if (now > 0) counts.set(name, now);
  else counts.delete(name);
  return now;
}

/** One row has all dispensers of a transaction at an address: it is open while one of them is. */
function merge(before: Dispenser | undefined, row: Dispenser): Dispenser {
  if (!before) return row;
  return {
    ...before,
    oracleAddress: before.oracleAddress ?? row.oracleAddress,
    expiration: Math.max(before.expiration, row.expiration),
    prices: row.prices.reduce(withPrice, before.prices)
  };
}

function withPrice(prices: readonly Price[], added: Price): readonly Price[] {
  const same = prices.find(({ least }) => least === added.least);
  const others = prices.filter((price) => price !== same);
  const one = same ? { ...same, dispensers: same.dispensers + added.dispensers } : added;
  return [...others, one].sort((a, b) => (a.least < b.least ? -1 : 1));
}

/** The prices whose dispensers may serve another payment: a ledger has not served the cheaper ones as often as it may. */
function unspent(prices: readonly Price[]): readonly Price[] {
  let [paid, most, from] = [0, 0, 0];
  for (const [place, { dispensers, payments }] of prices.entries()) {
    paid += payments;
    most += MAX_PAYMENTS * dispensers;
    if (paid >= most) from = place + 1;
  }
  return prices.slice(from);
}

const keyOf = ({ txIndex, address }: Pick<Dispenser, 'txIndex' | 'address'>): string => `${txIndex} ${address}`;
