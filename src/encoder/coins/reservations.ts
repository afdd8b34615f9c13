import { PlatformError } from '../../errors.ts';

/** An output of a transaction. */
export interface Outpoint {
  readonly txid: string;
  readonly vout: number;
}

/** Bounds of reservations. */
interface ReservationLimits {
  readonly ttlMs: number;
  /** Most coins of one holder. */
  readonly mostOfOne: number;
  /** Most coins of all holders. Beyond it the oldest reservations end. */
  readonly most: number;
}

interface Reservation {
  readonly holder: string;
  /** Id of the request that reserved the coin. */
  readonly request: string | undefined;
  /** Monotonic milliseconds. */
  readonly end: number;
}

/**
 * Coins that were handed out in a PSBT and may soon be spent. The same caller does not get them in another call.
 *
 * Other callers get them when no other coins are left: nobody can lock coins of others. The number is bounded, and each
 * reservation ends by itself.
 */
export class Reservations {
  readonly #limits: ReservationLimits;
  readonly #now: () => number;
  /** By coin, in the order of their end: all last equally long. */
  readonly #held = new Map<string, Reservation>();
  readonly #counts = new Map<string, number>();

  /** @param now  monotonic milliseconds */
  constructor(limits: ReservationLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Milliseconds that a reservation lasts. */
  get ttlMs(): number {
    return this.#limits.ttlMs;
  }

  /** Number of reserved coins. */
  get count(): number {
    this.#expire();
    return this.#held.size;
  }

  /** Returns the holder of a coin and the milliseconds left; undefined when it is free. */
  of(coin: Outpoint): { readonly holder: string; readonly leftMs: number } | undefined {
    const held = this.#held.get(keyOf(coin));
    const leftMs = (held?.end ?? 0) - this.#now();
    return held && leftMs > 0 ? { holder: held.holder, leftMs } : undefined;
  }

  /**
   * Reserves all coins or none, also coins that others hold.
   *
   * @param request id of the request, by which `releaseOf` ends its reservations
   * @throws {PlatformError} RESERVATIONS_FULL; COIN_UNUSABLE for a coin that the holder already has
   */
  take(coins: readonly Outpoint[], holder: string, request?: string): void {
    this.#expire();
    const count = this.#counts.get(holder) ?? 0;
    if (count + coins.length > this.#limits.mostOfOne)
      throw new PlatformError('RESERVATIONS_FULL', {
        reason: `${count} coins are reserved for this caller: release_tx frees those of a request_id`
      });
    const taken = coins.find((coin) => this.of(coin)?.holder === holder);
    if (taken) throw new PlatformError('COIN_UNUSABLE', { reason: `${keyOf(taken)} is reserved by another call` });
    const end = this.#now() + this.#limits.ttlMs;
    for (const key of coins.map(keyOf)) {
      this.#drop(key); // back in as the last to end
      this.#held.set(key, { holder, request, end });
      this.#counts.set(holder, (this.#counts.get(holder) ?? 0) + 1);
    }
    for (const key of this.#held.keys()) {
      if (this.#held.size <= this.#limits.most) break;
      this.#drop(key);
    }
  }

  /** Ends the holder's reservations of coins. @returns the number that ended */
  release(coins: readonly Outpoint[], holder: string): number {
    const own = coins.filter((coin) => this.of(coin)?.holder === holder);
    for (const coin of own) this.#drop(keyOf(coin));
    return own.length;
  }

  /** Ends the reservations that a request of the holder made, and no other of these coins. @returns the number that ended */
  releaseOf(request: string, coins: readonly Outpoint[], holder: string): number {
    return this.release(
      coins.filter((coin) => this.#held.get(keyOf(coin))?.request === request),
      holder
    );
  }

  #expire(): void {
    const now = this.#now();
    for (const [key, { end }] of this.#held) {
      if (end > now) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    const count = this.#counts.get(held.holder)! - 1;
    if (count > 0) this.#counts.set(held.holder, count);
    else this.#counts.delete(held.holder);
  }
}

/** Returns the name of an output, `txid:vout`. */
export const keyOf = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`;
