import { DEFAULT_TERM_S } from '../../coin/action/dispenser.ts';
import type { MedianClock } from '../median-clock.ts';
import type { DispenserRows } from './action.ts';
import { OlderTakers } from './older-takers.ts';
import { leastOf, type Price, withPayment, withPrice } from './prices.ts';
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

/** A request to extend all dispensers whose source or paid address is this address. */
export interface Extension {
  readonly height: number;
  readonly address: string;
  /** Unix seconds. */
  readonly expiration: number;
}

/** The dispensers before a run of blocks, read by need. */
export interface DispensersBefore {
  /**
   * Returns the index of the oldest transaction, from one on, with an open dispenser at an address that may take an
   * amount; undefined when there is none.
   *
   * @param isOwn whether its source is the address, or anybody else
   */
  readonly taker: (address: string, isOwn: boolean, amount: bigint, from: number) => Promise<number | undefined>;
  readonly dispenser: (txIndex: number, address: string) => Promise<Dispenser>;
  /** Returns the latest expiration that an address asked for; 0 when it asked for none. */
  readonly extendedTo: (address: string) => Promise<number>;
  /** Returns whether an address is the source or the paid address of a dispenser that is open, or ended after a block. */
  readonly isParty: (address: string, height: number) => Promise<boolean>;
}

/** Dispensers before the first block of a chain: none. */
export const NONE_BEFORE: DispensersBefore = {
  taker: async () => undefined,
  dispenser: async (txIndex, address) => {
    throw new Error(`no dispenser of transaction ${txIndex} at ${address}`);
  },
  extendedTo: async () => 0,
  isParty: async () => false
};

/** First block, and time, at which something ends or is forgotten. */
export interface Stops {
  readonly height: number;
  /** A median in Unix seconds above which something ends. */
  readonly time: number;
}

/** Nothing ends. */
export const NO_STOPS: Stops = { height: Number.POSITIVE_INFINITY, time: Number.POSITIVE_INFINITY };

/** Changes of a run. */
interface RunChanges {
  /** Dispensers that were opened, ended, or take less than before, in their present state. */
  readonly dispensers: readonly Dispenser[];
  /** Paid addresses of those that were opened. */
  readonly openedAt: readonly string[];
  readonly extensions: readonly Extension[];
  /** Counted payments, by block, dispenser and price. */
  readonly payments: readonly Counted[];
}

/** Counted payments of one block, dispenser and price. */
interface Counted {
  readonly height: number;
  readonly dispenser: Pick<Dispenser, 'txIndex' | 'address'>;
  readonly least: bigint;
  readonly count: number;
}

/** A transaction with its changes to dispensers. */
interface DispenserTransaction {
  readonly txIndex: number;
  readonly source: string;
  readonly dispensers: DispenserRows;
}

/** A payment of a block. */
interface Payment {
  readonly address: string;
  /** Base units. */
  readonly amount: bigint;
}

/** Blocks after which no rollback reopens an expired dispenser: it is forgotten. */
export const KEPT_BLOCKS = 126;

/**
 * Tracks the dispensers of a chain through a run of blocks in which none ends by time, transaction by transaction, and
 * tells which may serve a payment. Of what was before, it reads what its transactions ask for.
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
 * When one transaction opens several dispensers, a payment asks one of those it can pay. @see leastOf
 */
export class DispenserRun {
  readonly #before: DispensersBefore;
  readonly #clock: MedianClock;
  readonly #limitFrom: number;
  #stops: Stops;
  /** Dispensers that this run read or opened. */
  readonly #rows = new Map<string, Dispenser>();
  /** Dispensers by the address that takes payments: its own, and those of others. */
  readonly #tills = new Map<string, { readonly own: Tills; readonly others: Tills }>();
  /** Dispensers that this run opened. */
  readonly #opened = new Set<string>();
  /** Their sources and paid addresses. */
  readonly #parties = new Set<string>();
  /** Latest extension of each address, where this run asked for it. */
  readonly #extended = new Map<string, number>();
  readonly #changed = new Set<string>();
  readonly #extensions: Extension[] = [];
  readonly #payments = new Map<string, Counted>();
  /** Amounts that the block pays, by address. */
  #asked = new Map<string, Set<bigint>>();
  #height = 0;

  /**
   * @param clock at the block before
   * @param limitFrom first block whose payments count against MAX_PAYMENTS, as in ledgers
   */
  constructor(
    before: DispensersBefore,
    clock: MedianClock,
    { limitFrom, stops }: { readonly limitFrom: number; readonly stops: Stops }
  ) {
    this.#before = before;
    this.#clock = clock;
    this.#limitFrom = limitFrom;
    this.#stops = stops;
  }

  /** Returns whether the next block may be part of this run: nothing ends, or is forgotten, at its beginning. */
  accepts(height: number): boolean {
    return height < this.#stops.height && this.#clock.aged <= this.#stops.time;
  }

  /** Begins a block. @param payments those of which it will be asked */
  enter(height: number, time: number, payments: Iterable<Payment> = []): void {
    this.#height = height;
    this.#clock.add(time);
    this.#asked = new Map();
    for (const { address, amount } of payments) {
      const amounts = this.#asked.get(address);
      if (amounts) amounts.add(amount);
      else this.#asked.set(address, new Set([amount]));
    }
  }

  /** Returns whether an address pays itself, in a block in which ledgers serve no such payment. */
  isOwnChange(payer: string, address: string): boolean {
    return payer === address && this.#height >= this.#limitFrom;
  }

  /** Returns whether a dispenser may serve a payment. @param amount base units */
  async isTaken(address: string, amount: bigint): Promise<boolean> {
    return (await this.#taker(address, amount)) !== undefined;
  }

  /**
   * Counts a payment that is stored. It counts for the dispenser that ledgers ask first of those that may serve it.
   * @returns whether there is one
   */
  async take(address: string, amount: bigint): Promise<boolean> {
    const row = await this.#taker(address, amount);
    if (!row) return false;
    if (this.#height < this.#limitFrom) return true;
    const { prices, least } = withPayment(row.prices, amount);
    const next = leastOf(prices);
    this.#put({ ...row, prices, expiredAt: next === undefined ? this.#height : null });
    if (next === undefined) this.#stopAt({ height: this.#height + KEPT_BLOCKS });
    if (next !== leastOf(row.prices)) this.#changed.add(keyOf(row));
    const place = `${this.#height} ${keyOf(row)} ${least}`;
    const count = (this.#payments.get(place)?.count ?? 0) + 1;
    const dispenser = { txIndex: row.txIndex, address };
    this.#payments.set(place, { height: this.#height, dispenser, least, count });
    return true;
  }

  /** Applies the openings and extensions of a transaction of the block. */
  async apply({ txIndex, source, dispensers: { opened, extendedTo } }: DispenserTransaction): Promise<void> {
    const now = this.#clock.newest;
    for (const { address, oracleAddress, expiration, least, isInBatch } of opened) {
      const till = { txIndex, address: address ?? source };
      if (isInBatch && till.address !== source && this.#height >= this.#limitFrom) continue; // every ledger refuses it
      const prices = [{ least, dispensers: 1, payments: 0 }];
      const row = { ...till, oracleAddress, source, expiration: expiration ?? now + DEFAULT_TERM_S, prices };
      if (row.expiration > now) this.#open({ ...row, expiredAt: null });
    }
    if (extendedTo === null || extendedTo <= now || extendedTo <= (await this.#extendedTo(source))) return;
    const oldest = this.#height - KEPT_BLOCKS;
    if (!this.#parties.has(source) && !(await this.#before.isParty(source, oldest))) return; // it has nothing to extend
    this.#extended.set(source, extendedTo);
    this.#extensions.push({ height: this.#height, address: source, expiration: extendedTo });
    this.#stopAt({ height: this.#height + KEPT_BLOCKS });
  }

  /** Changes since the beginning of the run. */
  get changes(): RunChanges {
    return {
      dispensers: [...this.#changed].map((key) => this.#rows.get(key)!),
      openedAt: [...this.#opened].map((key) => this.#rows.get(key)!.address),
      extensions: this.#extensions,
      payments: [...this.#payments.values()]
    };
  }

  #stopAt({ height = Number.POSITIVE_INFINITY, time = Number.POSITIVE_INFINITY }: Partial<Stops>): void {
    this.#stops = { height: Math.min(this.#stops.height, height), time: Math.min(this.#stops.time, time) };
  }

  /**
   * Returns the dispenser that ledgers ask first: the oldest of the address itself, then the oldest of others. Below
   * the height of that order nothing is counted.
   */
  async #taker(address: string, amount: bigint): Promise<Dispenser | undefined> {
    const { own, others } = this.#tillsAt(address);
    for (const { older, opened } of [own, others]) {
      const txIndex = await older.oldestFor(amount, this.#asked.get(address));
      const key = txIndex === undefined ? opened.oldestFor(amount) : keyOf({ txIndex, address });
      if (key !== undefined) return this.#rows.get(key)!;
    }
    return undefined;
  }

  #tillsAt(address: string): { readonly own: Tills; readonly others: Tills } {
    const known = this.#tills.get(address);
    if (known) return known;
    const tillsOf = (isOwn: boolean): Tills => ({
      older: new OlderTakers(
        (amount, from) => this.#before.taker(address, isOwn, amount, from),
        (txIndex, amount) => this.#leastFor(amount, { txIndex, address })
      ),
      opened: new Till()
    });
    const tills = { own: tillsOf(true), others: tillsOf(false) };
    this.#tills.set(address, tills);
    return tills;
  }

  /** Reads the least payment that a dispenser takes. One that the tables offered for too little is written again. */
  async #leastFor(amount: bigint, place: Pick<Dispenser, 'txIndex' | 'address'>): Promise<bigint | undefined> {
    const key = keyOf(place);
    const row = this.#rows.get(key) ?? (await this.#before.dispenser(place.txIndex, place.address));
    this.#rows.set(key, row);
    const least = leastNow(row);
    if (least === undefined || least > amount) this.#changed.add(key);
    return least;
  }

  async #extendedTo(address: string): Promise<number> {
    return this.#extended.get(address) ?? (await this.#before.extendedTo(address));
  }

  #open(row: Dispenser): void {
    const key = keyOf(row);
    this.#opened.add(key);
    this.#changed.add(key);
    for (const party of [row.source, row.address]) this.#parties.add(party);
    this.#stopAt({ time: row.expiration });
    this.#put(merge(this.#rows.get(key), row));
  }

  #put(row: Dispenser): void {
    const key = keyOf(row);
    this.#rows.set(key, row);
    if (!this.#opened.has(key)) return;
    const { own, others } = this.#tillsAt(row.address);
    const { opened } = row.source === row.address ? own : others;
    const least = leastNow(row);
    if (least === undefined) opened.delete(key);
    else opened.set(key, least);
  }
}

/** The open dispensers at an address of one kind: those of blocks before the run, and those that it opened. */
interface Tills {
  readonly older: OlderTakers;
  readonly opened: Till;
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

/** Returns the least payment that a dispenser takes; undefined once it takes none. */
function leastNow({ expiredAt, prices }: Dispenser): bigint | undefined {
  return expiredAt === null ? leastOf(prices) : undefined;
}

const keyOf = ({ txIndex, address }: Pick<Dispenser, 'txIndex' | 'address'>): string => `${txIndex} ${address}`;
