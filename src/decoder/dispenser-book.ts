import { DEFAULT_TERM_S, MAX_DISPENSES, MAX_REFILLS } from '../coin/action/dispenser.ts';
import type { DispenserRows } from './dispenser-action.ts';
import { DueQueue } from './due-queue.ts';
import { MedianClock } from './median-clock.ts';
import { Till } from './till.ts';

/** A row of `dispensers` with names in place of ids. */
export interface Dispenser {
  /** Index of the transaction that opened it. */
  readonly txIndex: number;
  /** Address that takes payments. */
  readonly address: string;
  readonly oracleAddress: string | null;
  readonly source: string;
  /** Expiration at its opening, in Unix seconds; edits may extend it. */
  readonly expiration: number;
  /** Height of the block before which it ended; null while it is open. */
  readonly expiredAt: number | null;
  /** Prices of all dispensers that its transaction opened at the address, cheapest first. They share this row. */
  readonly prices: readonly Price[];
}

/** Dispensers of one transaction at one address with the same price. */
export interface Price {
  /** Least payment that they may serve, in base units. */
  readonly least: bigint;
  readonly dispensers: number;
  /** Counted payments that reach this price but no higher one of the transaction. */
  readonly payments: number;
}

/** A request to extend all dispensers whose source or paid address is this address. */
export interface Extension {
  readonly height: number;
  readonly address: string;
  /** Unix seconds. */
  readonly expiration: number;
}

/** Initial state of a book. */
export interface BookState {
  readonly dispensers: Iterable<Dispenser>;
  readonly extensions: Iterable<Extension>;
  /** Clock at the newest block. */
  readonly clock: MedianClock;
}

/** Changes since the last call of `takeChanges`. */
export interface DispenserChanges {
  /** New and closed dispensers in their present state. */
  readonly rows: readonly Dispenser[];
  readonly extensions: readonly Extension[];
  /** Counted payments, by block, dispenser and price. */
  readonly payments: readonly Counted[];
  /**
   * Entries that no rollback can restore: dispensers that ended long ago, and extensions of addresses without
   * dispensers.
   */
  readonly forgotten: { readonly rows: readonly Dispenser[]; readonly extensions: readonly Extension[] };
}

/** Counted payments of one block, dispenser and price. */
interface Counted {
  readonly height: number;
  readonly dispenser: Pick<Dispenser, 'txIndex' | 'address'>;
  readonly least: bigint;
  readonly count: number;
}

/** A transaction with its changes to dispensers. */
export interface DispenserTransaction {
  readonly txIndex: number;
  readonly source: string;
  readonly dispensers: DispenserRows;
}

/** Blocks after which no rollback reopens an expired dispenser. */
export const KEPT_BLOCKS = 126;
/** Most payments that a ledger serves from one dispenser. */
export const MAX_PAYMENTS = MAX_DISPENSES * (1 + MAX_REFILLS);

/**
 * Tracks the dispensers of a chain, block by block and transaction by transaction, and tells which may serve a payment.
 *
 * The decoder does not know which dispensers a ledger refuses. So it keeps one open as long as any ledger may: edits
 * only extend it.
 *
 * It ends by the median time of blocks, as in ledgers: the first block whose median is above the expiration may still
 * cancel it, and it then sells for an hour from that median.
 *
 * A dispenser at an address of somebody else ends after as many payments as a ledger would serve, and a transaction
 * opens one such dispenser at most: that bounds what it costs.
 *
 * When one transaction opens several dispensers, a payment asks one of those it can pay. @see unspent
 */
export class DispenserBook {
  readonly #rows = new Map<string, Dispenser>();
  /** Open dispensers by the address that takes payments: its own, and those of others. */
  readonly #open = new Map<string, Tills>();
  /** Number of rows by the address that takes payments. */
  readonly #tills = new Map<string, number>();
  #addresses: readonly string[] | undefined;
  /** Open rows by a time that does not end them yet. */
  readonly #ending = new DueQueue();
  readonly #closed = new DueQueue();
  readonly #unused = new DueQueue();
  /** Number of rows that name an address as source or paid address. */
  readonly #parties = new Map<string, number>();
  /** Latest extension of each address. */
  readonly #extended = new Map<string, Extension>();
  readonly #limitFrom: number;
  readonly #clock: MedianClock;
  #changed = new Set<string>();
  #extensions: Extension[] = [];
  #payments = new Map<string, Counted>();
  #forgotten: { rows: Dispenser[]; extensions: Extension[] } = { rows: [], extensions: [] };
  #height = 0;

  /** @param limitFrom first block whose payments count against MAX_PAYMENTS, as in ledgers */
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

  /**
   * Returns the addresses that take payments, or may again after a rollback. The same array as long as they do not
   * change.
   */
  addresses(): readonly string[] {
    this.#addresses ??= [...this.#tills.keys()];
    return this.#addresses;
  }

  /** Returns whether an address pays itself, in a block in which ledgers serve no such payment. */
  isOwnChange(payer: string, address: string): boolean {
    return payer === address && this.#height >= this.#limitFrom;
  }

  /** Returns whether a dispenser may serve a payment. @param amount base units */
  isTaken(address: string, amount: bigint): boolean {
    return this.#taker(address, amount) !== undefined;
  }

  /**
   * Counts a payment that is stored. It counts for the dispenser that ledgers ask first of those that may serve it.
   * @returns whether there is one
   */
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

  /** Begins a block: closes the dispensers that a ledger closed at the end of the block below. */
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

  /** Applies the openings and extensions of a transaction of the block. */
  apply({ txIndex, source, dispensers: { opened, extendedTo } }: DispenserTransaction): void {
    const now = this.#clock.newest;
    for (const { address, oracleAddress, expiration, least, isInBatch } of opened) {
      const till = { txIndex, address: address ?? source };
      if (isInBatch && till.address !== source && this.#height >= this.#limitFrom) continue; // every ledger refuses it
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

  /** Returns the changes since the last call. */
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

  /**
   * Drops entries that no rollback can restore. Runs for each block, so that the result does not depend on how many
   * blocks are written at once.
   */
  #forget(): void {
    const oldest = this.#height - KEPT_BLOCKS;
    const dropped = this.#closed.take(oldest).filter((key) => {
      const row = this.#rows.get(key);
      return row && row.expiredAt !== null && row.expiredAt <= oldest;
    });
    this.#drop(new Set(dropped));
    for (const address of this.#unused.take(oldest)) {
      const extension = this.#extended.get(address);
      if (!extension || extension.height > oldest || this.#parties.has(address)) continue;
      const { height } = extension;
      this.#extended.delete(address);
      this.#extensions = this.#extensions.filter((other) => other.address !== address || other.height > height);
      this.#forgotten.extensions.push(extension);
    }
  }

  #drop(keys: ReadonlySet<string>): void {
    if (keys.size === 0) return;
    for (const [place, { dispenser }] of this.#payments) if (keys.has(keyOf(dispenser))) this.#payments.delete(place);
    for (const key of keys) {
      const row = this.#rows.get(key)!;
      this.#rows.delete(key);
      this.#changed.delete(key);
      for (const party of [row.source, row.address]) {
        count(this.#parties, party, -1);
        this.#noteUnused(party);
      }
      if (count(this.#tills, row.address, -1) === 0) this.#addresses = undefined;
      this.#forgotten.rows.push(row);
    }
  }

  /** Schedules an address without rows: its extension is dropped once no rollback can undo it. */
  #noteUnused(address: string): void {
    const extension = this.#extended.get(address);
    if (extension && !this.#parties.has(address)) this.#unused.add(extension.height, address);
  }

  /**
   * Returns the dispenser that ledgers ask first: the oldest of the address itself, then the oldest of others. Below
   * the height of that order nothing is counted.
   */
  #taker(address: string, amount: bigint): string | undefined {
    const tills = this.#open.get(address);
    return tills?.own?.oldestFor(amount) ?? tills?.others?.oldestFor(amount);
  }

  /**
   * Returns the latest expiration that anybody asked for: in a ledger both the opener and the owner of the paid address
   * may edit a dispenser.
   */
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
    const [cheapest] = isOpen ? unspent(row.prices) : [];
    this.#setTill(row, cheapest?.least);
    if (isOpen && !wasOpen) this.#ending.add(row.expiration, key);
    if (expiredAt !== null && before?.expiredAt !== expiredAt) this.#closed.add(expiredAt, key);
  }

  /** @param least least payment that the dispenser takes by now; undefined where it takes none */
  #setTill(row: Dispenser, least: bigint | undefined): void {
    const { address, source } = row;
    const kind = source === address ? 'own' : 'others';
    const tills = this.#open.get(address) ?? {};
    if (least === undefined) {
      tills[kind]?.delete(keyOf(row));
      if (tills[kind]?.isEmpty) delete tills[kind];
      if (!tills.own && !tills.others) this.#open.delete(address);
      return;
    }
    tills[kind] ??= new Till();
    tills[kind].set(keyOf(row), least);
    this.#open.set(address, tills);
  }
}

/** The open dispensers at an address. Most addresses have one dispenser: no place is made for others. */
interface Tills {
  own?: Till;
  others?: Till;
}

/** Changes a count and removes it at 0. @returns the new count */
function count(counts: Map<string, number>, name: string, change: number): number {
  const now = (counts.get(name) ?? 0) + change;
  if (now > 0) counts.set(name, now);
  else counts.delete(name);
  return now;
}

/** Merges dispensers of one transaction at one address into one row, which is open while any of them is. */
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

/**
 * Returns the prices whose dispensers may still serve a payment: those above the dearest one that has certainly ended.
 *
 * A payment counts for one of the dispensers that it can pay, and nobody here knows for which: the cheaper ones may
 * have taken all that they can. So a price has certainly ended when the payments that reach it, and none above some
 * price, are as many as all dispensers up to that price take together.
 */
function unspent(prices: readonly Price[]): readonly Price[] {
  let most = 0;
  let from = 0;
  /** Payments of the prices from that place on. */
  let paid = 0;
  for (const [place, { dispensers, payments }] of prices.entries()) {
    most += MAX_PAYMENTS * dispensers;
    paid += payments;
    if (paid < most) continue;
    let reached = 0;
    let lowest = place;
    for (; reached < most; lowest--) reached += prices[lowest]!.payments;
    from = lowest + 2;
    paid = reached - prices[lowest + 1]!.payments;
  }
  return prices.slice(from);
}

const keyOf = ({ txIndex, address }: Pick<Dispenser, 'txIndex' | 'address'>): string => `${txIndex} ${address}`;
