import { PlatformError } from '../errors.ts';

/** Which output of which transaction. */
export interface Outpoint {
  readonly txid: string;
  readonly vout: number;
}

export interface ReservationLimits {
  readonly ttlMs: number;
  readonly most: number;
}

/** Coins that were handed out and may be spent by their caller, so that no other call gets them. Bounded; each ends by itself. */
export class Reservations {
  readonly #limits: ReservationLimits;
  readonly #now: () => number;
  /** When each ends. They are in the order of their end, because all last as long. */
  readonly #ends = new Map<string, number>();

  /** @param now  monotonic milliseconds */
  constructor(limits: ReservationLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get ttlMs(): number {
    return this.#limits.ttlMs;
  }

  get count(): number {
    this.#expire();
    return this.#ends.size;
  }

  has(coin: Outpoint): boolean {
    return (this.#ends.get(keyOf(coin)) ?? Number.NEGATIVE_INFINITY) > this.#now();
  }

  /** Takes all or none. @throws {PlatformError} RESERVATIONS_FULL; COIN_UNUSABLE for one that is taken */
  take(coins: readonly Outpoint[]): void {
    this.#expire();
    if (this.#ends.size + coins.length > this.#limits.most)
      throw new PlatformError('RESERVATIONS_FULL', { reason: `${this.#ends.size} coins are reserved` });
    const taken = coins.find((coin) => this.has(coin));
    if (taken) throw new PlatformError('COIN_UNUSABLE', { reason: `${keyOf(taken)} is reserved by another call` });
    for (const coin of coins) this.#ends.set(keyOf(coin), this.#now() + this.#limits.ttlMs);
  }

  release(coins: readonly Outpoint[]): void {
    for (const coin of coins) this.#ends.delete(keyOf(coin));
  }

  #expire(): void {
    const now = this.#now();
    for (const [key, end] of this.#ends) {
      if (end > now) return;
      this.#ends.delete(key);
    }
  }
}

/** `txid:vout` */
export const keyOf = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`;
