import type { DispenserRows } from './dispenser-action.ts';

/** A row of `dispensers`, its names spelled out. */
export interface Dispenser {
  readonly txIndex: number;
  /** Where it takes payments. */
  readonly address: string;
  readonly oracleAddress: string | null;
  readonly source: string;
  /** Unix seconds; null: never. */
  readonly expiration: number | null;
  /** The block that marked it as expired; null while it is open. */
  readonly expiredAt: number | null;
}

/** What an extension replaced. */
export interface Replaced {
  readonly height: number;
  readonly dispenser: Dispenser;
}

/** What changed since the last look. */
export interface DispenserChanges {
  /** New ones and changed ones, as they stand. */
  readonly rows: readonly Dispenser[];
  /** In order; the first of a block and dispenser is what stood before the block. */
  readonly replaced: readonly Replaced[];
}

/** What a transaction does to dispensers, and where it stands. */
export interface DispenserTransaction {
  readonly txIndex: number;
  readonly source: string;
  readonly dispensers: DispenserRows;
}

const DAYS_90_S = 90 * 86_400;
/** Blocks after which what expired can come back neither by a rollback nor by an extension. */
export const KEPT_BLOCKS = 126;

/** The dispensers of a chain, block after block and transaction after transaction: which ones take payments now. */
export class DispenserBook {
  readonly #rows = new Map<string, Dispenser>();
  /** Keys of rows by their source. */
  readonly #bySource = new Map<string, Set<string>>();
  /** Open dispensers by the address at which they take payments. */
  readonly #open = new Map<string, number>();
  #changed = new Set<string>();
  #replaced: Replaced[] = [];
  /** No open dispenser expires before. */
  #earliest = Number.POSITIVE_INFINITY;
  #height = 0;
  #time = 0;

  constructor(rows: Iterable<Dispenser> = []) {
    for (const row of rows) this.#put(row);
  }

  /** Addresses of all that take payments, or may do so again. */
  *addresses(): Generator<string> {
    for (const { address } of this.#rows.values()) yield address;
  }

  isOpen(address: string): boolean {
    return this.#open.has(address);
  }

  /** Begins a block: what expired before its time is closed. */
  enter(height: number, time: number): void {
    this.#height = height;
    this.#time = time;
    if (this.#earliest >= time) return;
    this.#earliest = Number.POSITIVE_INFINITY;
    for (const row of this.#rows.values()) {
      if (row.expiredAt !== null || row.expiration === null) continue;
      if (row.expiration < time) this.#change({ ...row, expiredAt: height });
      else this.#earliest = Math.min(this.#earliest, row.expiration);
    }
  }

  /** Opens and extends what a transaction of the block says. */
  apply({ txIndex, source, dispensers: { opened, extendedTo } }: DispenserTransaction): void {
    if (opened) {
      const { address, oracleAddress, expiration } = opened;
      const whole = { txIndex, address: address ?? source, oracleAddress, source, expiredAt: null };
      this.#change({ ...whole, expiration: expiration ?? this.#time + DAYS_90_S });
    }
    if (extendedTo !== null) this.#extend(source, extendedTo);
  }

  /** Forgets what nothing brings back. Its rows are to be deleted by the same rule. */
  purge(): void {
    for (const [key, row] of this.#rows) {
      if (row.expiredAt === null || row.expiredAt > this.#height - KEPT_BLOCKS) continue;
      this.#rows.delete(key);
      this.#changed.delete(key);
      const own = this.#bySource.get(row.source)!;
      own.delete(key);
      if (own.size === 0) this.#bySource.delete(row.source);
    }
  }

  takeChanges(): DispenserChanges {
    const changes = { rows: [...this.#changed].map((key) => this.#rows.get(key)!), replaced: this.#replaced };
    this.#changed = new Set();
    this.#replaced = [];
    return changes;
  }

  #extend(source: string, expiration: number): void {
    for (const key of this.#bySource.get(source) ?? []) {
      const row = this.#rows.get(key)!;
      if (row.expiredAt !== null && row.expiredAt <= this.#height - KEPT_BLOCKS) continue;
      this.#replaced.push({ height: this.#height, dispenser: row });
      this.#change({ ...row, expiration, expiredAt: expiration < this.#time ? row.expiredAt : null });
    }
  }

  #change(row: Dispenser): void {
    this.#put(row);
    this.#changed.add(keyOf(row));
  }

  #put(row: Dispenser): void {
    const key = keyOf(row);
    const before = this.#rows.get(key);
    this.#rows.set(key, row);
    const own = this.#bySource.get(row.source) ?? new Set();
    this.#bySource.set(row.source, own.add(key));
    const opened = Number(row.expiredAt === null) - Number(before?.expiredAt === null);
    const open = (this.#open.get(row.address) ?? 0) + opened;
    if (open > 0) this.#open.set(row.address, open);
    else this.#open.delete(row.address);
    if (row.expiredAt === null) this.#earliest = Math.min(this.#earliest, row.expiration ?? this.#earliest);
  }
}

const keyOf = ({ txIndex, address }: Dispenser): string => `${txIndex} ${address}`;
