import { PlatformError } from '../../errors.ts';
import { heaviestHolder } from './heaviest-holder.ts';

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
  /** Most coins of all holders. Beyond it the oldest reservations of the holder that has the most end. */
  readonly most: number;
}

/** Settings that decide the bounds. */
interface ReservationSettings {
  readonly ENCODER_API_KEY?: readonly string[] | undefined;
  readonly ENCODER_RESERVATION_MS: number;
  readonly ENCODER_MAX_RESERVATIONS: number;
}

/** Most coins that a caller without a key may reserve. */
const MOST_OPEN_RESERVATIONS = 2_000;

/** Returns the bounds that the settings ask for: a caller with the key may reserve all that there may be. */
export function reservationLimits({
  ENCODER_API_KEY: key,
  ENCODER_RESERVATION_MS: ttlMs,
  ENCODER_MAX_RESERVATIONS: most
}: ReservationSettings): ReservationLimits {
  return { ttlMs, most, mostOfOne: key ? most : MOST_OPEN_RESERVATIONS };
}

interface Reservation {
  readonly coin: string;
  readonly holder: string;
  /** Id of the request that reserved the coin. */
  readonly request: string | undefined;
  /** Monotonic milliseconds. */
  readonly end: number;
}

/**
 * Coins that were handed out in a PSBT and may soon be spent. The same caller does not get them in another call.
 *
 * Other callers get them when no other coins are left: nobody can lock coins of others. Each of them then has a
 * reservation of the coin, and none ends another's. The number is bounded, and each reservation ends by itself.
 */
export class Reservations {
  readonly #limits: ReservationLimits;
  readonly #now: () => number;
  /** By coin and holder, in the order of their end: all last equally long. */
  readonly #held = new Map<string, Reservation>();
  /** Names of the reservations of each holder, in the same order. */
  readonly #byHolder = new Map<string, Set<string>>();
  readonly #byCoin = new Counts();

  /** @param now  monotonic milliseconds */
  constructor(limits: ReservationLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Milliseconds that a reservation lasts. */
  get ttlMs(): number {
    return this.#limits.ttlMs;
  }

  /** Number of reservations. */
  get count(): number {
    this.#expire();
    return this.#held.size;
  }

  /** Returns for how many milliseconds more the holder has a coin; undefined when it has not. */
  leftMs(coin: Outpoint, holder: string): number | undefined {
    const leftMs = (this.#held.get(nameOf(keyOf(coin), holder))?.end ?? 0) - this.#now();
    return leftMs > 0 ? leftMs : undefined;
  }

  /** Returns whether anybody has a coin. */
  isHeld(coin: Outpoint): boolean {
    this.#expire();
    return this.#byCoin.of(keyOf(coin)) > 0;
  }

  /**
   * Reserves all coins or none, also coins that others hold.
   *
   * @param request id of the request, by which `releaseOf` ends its reservations
   * @returns their end, by which `renew` and `release` tell them from those of later calls
   * @throws {PlatformError} RESERVATIONS_FULL; COIN_UNUSABLE for a coin that the holder already has
   */
  take(coins: readonly Outpoint[], holder: string, request?: string): number {
    this.#expire();
    const count = this.#byHolder.get(holder)?.size ?? 0;
    if (count + coins.length > this.#limits.mostOfOne) throw isFull(count);
    const taken = coins.find((coin) => this.leftMs(coin, holder) !== undefined);
    if (taken) throw new PlatformError('COIN_UNUSABLE', { reason: `${keyOf(taken)} is reserved by another call` });
    this.#makeRoom(coins.length, holder);
    const end = this.#now() + this.#limits.ttlMs;
    const own = this.#byHolder.get(holder) ?? new Set();
    for (const coin of coins.map(keyOf)) {
      const name = nameOf(coin, holder);
      this.#held.set(name, { coin, holder, request, end });
      this.#byHolder.set(holder, own.add(name));
      this.#byCoin.add(coin, 1);
    }
    return end;
  }

  /**
   * Reserves coins for the whole time from now on, which a call took and then looked at for long: they stay reserved as long as its
   * answer is kept.
   *
   * @param taken what `take` returned
   * @throws {PlatformError} COIN_UNUSABLE where their time was over and another call of the holder has taken one, RESERVATIONS_FULL;
   *   then nothing of this call stays reserved
   */
  renew(coins: readonly Outpoint[], holder: string, request: string | undefined, taken: number): void {
    this.release(coins, holder, taken);
    this.take(coins, holder, request);
  }

  /** Ends reservations of the largest holders for room. @throws {PlatformError} RESERVATIONS_FULL when the caller is the largest */
  #makeRoom(coins: number, holder: string): void {
    while (this.#held.size + coins > this.#limits.most) {
      const parts = [...this.#byHolder].map(([name, held]) => [name, held.size] as const);
      const giver = heaviestHolder([...parts, [holder, coins]]);
      if (giver === undefined || giver === holder) throw isFull(this.#byHolder.get(holder)?.size ?? 0);
      const [oldest] = this.#byHolder.get(giver)!;
      this.#drop(oldest!);
    }
  }

  /** Ends the holder's reservations of coins. @param taken those of one call alone @returns the number that ended */
  release(coins: readonly Outpoint[], holder: string, taken?: number): number {
    const isOwn = (coin: Outpoint) => taken === undefined || this.#held.get(nameOf(keyOf(coin), holder))?.end === taken;
    const own = coins.filter((coin) => this.leftMs(coin, holder) !== undefined && isOwn(coin));
    for (const coin of own) this.#drop(nameOf(keyOf(coin), holder));
    return own.length;
  }

  /** Ends the reservations that a request of the holder made, and no other of these coins. @returns the number that ended */
  releaseOf(request: string, coins: readonly Outpoint[], holder: string): number {
    return this.release(
      coins.filter((coin) => this.#held.get(nameOf(keyOf(coin), holder))?.request === request),
      holder
    );
  }

  #expire(): void {
    const now = this.#now();
    for (const [name, { end }] of this.#held) {
      if (end > now) return;
      this.#drop(name);
    }
  }

  #drop(name: string): void {
    const held = this.#held.get(name);
    if (!held) return;
    this.#held.delete(name);
    const own = this.#byHolder.get(held.holder);
    own?.delete(name);
    if (own?.size === 0) this.#byHolder.delete(held.holder);
    this.#byCoin.add(held.coin, -1);
  }
}

/** Counts by name; a name whose count is 0 takes no room. */
class Counts {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, more: number): void {
    const count = this.of(name) + more;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}

const isFull = (count: number) =>
  new PlatformError('RESERVATIONS_FULL', {
    reason: `${count} coins are reserved for this caller: release_tx frees those of a request_id`
  });

const nameOf = (coin: string, holder: string): string => `${coin} ${holder}`;

/** Returns the name of an output, `txid:vout`. */
export const keyOf = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`;
