import { DEFAULT_TERM_S, MAX_DISPENSES, MAX_REFILLS } from '../coin/action/dispenser.ts';
import type { DispenserRows } from './dispenser-action.ts';
import { MedianClock } from './median-clock.ts';

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
  /** The least payment that it may serve, in base units. */
  readonly least: bigint;
  /** Dispensers that its transaction opened at the address; they are one here. */
  readonly count: number;
  /** Payments that were stored for it, of those that count. */
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
  /** Payments that were counted, by block and dispenser. */
  readonly payments: readonly { readonly height: number; readonly dispenser: Dispenser; readonly count: number }[];
  /** What no rollback brings back: rows that ended so long ago, and what addresses without any asked for up to a height. */
  readonly forgotten: { readonly rows: readonly Dispenser[]; readonly extensions: readonly Extension[] };
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
 * open: edits only extend it, and it ends by the median time of blocks, as ledgers count: the
 * first block whose median is above its expiration may still cancel it, and then it sells for an hour from that median. What was opened at an address of somebody
 * else costs no more than a ledger would serve: it ends after so many payments.
 */
export class DispenserBook {
  readonly #rows = new Map<string, Dispenser>();
  /** Keys of open rows by the address at which they take payments, oldest first. */
  readonly #open = new Map<string, Set<string>>();
  /** How many rows name an address as source or till. */
  readonly #parties = new Map<string, number>();
  /** The latest time that an address asked for. */
  readonly #extended = new Map<string, Extension>();
  readonly #limitFrom: number;
  readonly #clock: MedianClock;
  #changed = new Set<string>();
  #extensions: Extension[] = [];
  #payments = new Map<string, { readonly height: number; readonly key: string; count: number }>();
  #forgotten: { rows: Dispenser[]; extensions: Extension[] } = { rows: [], extensions: [] };
  /** No open dispenser asks for an earlier end. */
  #earliest = Number.NEGATIVE_INFINITY;
  /** Nothing is to be forgotten before this block. */
  #keptUntil = Number.NEGATIVE_INFINITY;
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
  }

  /** Addresses of all that take payments, or may do so again after a rollback. */
  *addresses(): Generator<string> {
    for (const { address } of this.#rows.values()) yield address;
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
    const payments = row.payments + 1;
    const isSpent = payments >= MAX_PAYMENTS * row.count;
    this.#put({ ...row, payments, expiredAt: isSpent ? this.#height : null });
    if (isSpent) this.#changed.add(key);
    const place = `${this.#height} ${key}`;
    const counted = this.#payments.get(place) ?? { height: this.#height, key, count: 0 };
    counted.count += 1;
    this.#payments.set(place, counted);
    return true;
  }

  /** Begins a block: what a ledger closed at the end of the one below is closed. */
  enter(height: number, time: number): void {
    const over = this.#clock.aged;
    this.#height = height;
    this.#clock.add(time);
    this.#forget();
    if (this.#earliest >= over) return;
    this.#earliest = Number.POSITIVE_INFINITY;
    for (const keys of [...this.#open.values()]) {
      for (const key of [...keys]) {
        const row = this.#rows.get(key)!;
        const end = this.#endOf(row);
        if (end < over) this.#change({ ...row, expiredAt: height });
        else this.#earliest = Math.min(this.#earliest, end);
      }
    }
  }

  /** Opens and extends what a transaction of the block says. */
  apply({ txIndex, source, dispensers: { opened, extendedTo } }: DispenserTransaction): void {
    const now = this.#clock.newest;
    for (const { address, oracleAddress, expiration, least } of opened) {
      const till = { txIndex, address: address ?? source };
      const row = { ...till, oracleAddress, source, expiration: expiration ?? now + DEFAULT_TERM_S, least };
      if (row.expiration > now) this.#change(merge(this.#rows.get(keyOf(row)), row));
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
      payments: [...this.#payments.values()].map(({ height, key, count }) => ({
        ...{ height, count },
        dispenser: this.#rows.get(key)!
      })),
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
    if (oldest < this.#keptUntil) return;
    this.#keptUntil = Number.POSITIVE_INFINITY;
    const isOver = (height: number) => {
      if (height > oldest) this.#keptUntil = Math.min(this.#keptUntil, height);
      return height <= oldest;
    };
    for (const row of this.#rows.values()) if (row.expiredAt !== null && isOver(row.expiredAt)) this.#drop(row);
    for (const extension of this.#extended.values()) {
      const { address, height } = extension;
      if (this.#parties.has(address) || !isOver(height)) continue;
      this.#extended.delete(address);
      this.#extensions = this.#extensions.filter((other) => other.address !== address || other.height > height);
      this.#forgotten.extensions.push(extension);
    }
  }

  #drop(row: Dispenser): void {
    const key = keyOf(row);
    this.#rows.delete(key);
    this.#changed.delete(key);
    for (const [place, payment] of this.#payments) if (payment.key === key) this.#payments.delete(place);
    for (const party of [row.source, row.address]) {
      const left = this.#parties.get(party)! - 1;
      if (left > 0) this.#parties.set(party, left);
      else this.#parties.delete(party);
    }
    this.#forgotten.rows.push(row);
  }

  #taker(address: string, amount: bigint): string | undefined {
    for (const key of this.#open.get(address) ?? []) if (this.#rows.get(key)!.least <= amount) return key;
    return undefined;
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
    if (!this.#rows.has(key))
      for (const party of [row.source, row.address]) this.#parties.set(party, (this.#parties.get(party) ?? 0) + 1);
    this.#rows.set(key, row);
    const open = this.#open.get(row.address) ?? new Set();
    if (row.expiredAt === null) this.#open.set(row.address, open.add(key));
    else open.delete(key);
    if (open.size === 0) this.#open.delete(row.address);
    if (row.expiredAt === null) this.#earliest = Math.min(this.#earliest, row.expiration);
    else this.#keptUntil = Math.min(this.#keptUntil, row.expiredAt);
  }
}

/** One row has all dispensers of a transaction at an address: it is open while one of them is. */
function merge(before: Dispenser | undefined, row: Omit<Dispenser, 'expiredAt' | 'count' | 'payments'>): Dispenser {
  if (!before) return { ...row, expiredAt: null, count: 1, payments: 0 };
  return {
    ...before,
    oracleAddress: before.oracleAddress ?? row.oracleAddress,
    expiration: Math.max(before.expiration, row.expiration),
    least: before.least < row.least ? before.least : row.least,
    count: before.count + 1
  };
}

const keyOf = ({ txIndex, address }: Pick<Dispenser, 'txIndex' | 'address'>): string => `${txIndex} ${address}`;
