import { sha256 } from '../../consensus/commitment-hashes.ts';
import type { OfferKind } from './offer.ts';
import { Texts } from './texts.ts';

/** Live offer as it is looked for: enough to find the offer, not to carry it out. */
export interface OfferRecord {
  readonly index: number;
  readonly kind: OfferKind;
  /** Source of the offer; of a match that waits for a payment nobody. */
  readonly source: string;
  /** Address that is paid by whoever takes the offer. */
  readonly getAddress: string;
  /** Market or counter at which it is found; null where nobody looks for it. */
  readonly place: string | null;
  /** Whether it is a dispenser that holds too little for a fill. */
  readonly isEmpty: boolean;
  /** Ticker that a dispenser is paid in; null for the chain's own coin, and for any other offer. */
  readonly paidIn: string | null;
  readonly give: bigint;
  readonly get: bigint;
  /** Epoch seconds; null while it does not end by its time. */
  readonly endsAt: number | null;
  /** Epoch seconds at which a cancelled dispenser closes; null for any other offer. */
  readonly closesAt: number | null;
  /** Orders of a match that waits for a payment: two, or none. */
  readonly parties: readonly number[];
}

/** Kinds by their numbers. */
const KINDS = ['order', 'swap', 'dispenser', 'coinpay'] as const;
const HAS_PLACE = 4;
const IS_EMPTY = 8;
const IS_PAID_IN_TOKEN = 16;
const IS_WIDE = 32;

/** Numbers of 48 bits that make the digest of a place. Nobody finds two places with one digest of 192 bits. */
const DIGEST_PARTS = 4;
const BYTES_PER_PART = 6;
const WORD = 64n;
const LARGEST = 2n ** (2n * WORD);
const FEWEST_SLOTS = 1_024;

/** Returns the digest of a place, by which offers are found there. */
export function digestOf(place: string): readonly number[] {
  const bytes = Buffer.from(sha256(place), 'latin1');
  return Array.from({ length: DIGEST_PARTS }, (_, at) => bytes.readUIntBE(at * BYTES_PER_PART, BYTES_PER_PART));
}

/**
 * Records of live offers in columns outside the heap, a slot each: anybody may keep millions of offers open.
 *
 * Texts are shared between records. Amounts of more than 128 bits, which are long texts on the chain, stay in the heap.
 */
export class OfferColumns {
  #slots = FEWEST_SLOTS;
  #used = 0;
  readonly #free: number[] = [];
  readonly #texts = new Texts();
  readonly #wide = new Map<number, Pick<OfferRecord, 'give' | 'get'>>();
  #index = new Float64Array(FEWEST_SLOTS);
  #flags = new Uint8Array(FEWEST_SLOTS);
  #source = new Uint32Array(FEWEST_SLOTS);
  #getAddress = new Uint32Array(FEWEST_SLOTS);
  #paidIn = new Uint32Array(FEWEST_SLOTS);
  /** Digest of the place; of a match that waits for a payment its orders. */
  #place = new Float64Array(FEWEST_SLOTS * DIGEST_PARTS);
  /** Low and high word of `give`, then of `get`. */
  #amounts = new BigUint64Array(FEWEST_SLOTS * 4);
  /** About `give` per `get`. */
  #ratio = new Float64Array(FEWEST_SLOTS);
  #endsAt = new Float64Array(FEWEST_SLOTS);
  #closesAt = new Float64Array(FEWEST_SLOTS);

  /** Stores a record. @returns its slot */
  add(record: OfferRecord): number {
    const { index, kind, source, getAddress, place, isEmpty, paidIn, give, get, endsAt, closesAt, parties } = record;
    const slot = this.#free.pop() ?? this.#used++;
    if (slot >= this.#slots) this.#grow();
    const isWide = give >= LARGEST || get >= LARGEST;
    this.#index[slot] = index;
    this.#flags[slot] =
      KINDS.indexOf(kind) +
      (place === null ? 0 : HAS_PLACE) +
      (isEmpty ? IS_EMPTY : 0) +
      (paidIn === null ? 0 : IS_PAID_IN_TOKEN) +
      (isWide ? IS_WIDE : 0);
    this.#source[slot] = this.#texts.take(source);
    this.#getAddress[slot] = this.#texts.take(getAddress);
    if (paidIn !== null) this.#paidIn[slot] = this.#texts.take(paidIn);
    this.#place.set(place === null ? parties : digestOf(place), slot * DIGEST_PARTS);
    // A typed array takes the low 64 bits.
    if (isWide) this.#wide.set(slot, { give, get });
    else this.#amounts.set([give, give >> WORD, get, get >> WORD], slot * 4);
    this.#ratio[slot] = Number(give) / Number(get);
    this.#endsAt[slot] = endsAt ?? Number.NaN;
    this.#closesAt[slot] = closesAt ?? Number.NaN;
    return slot;
  }

  /** Frees a slot. */
  remove(slot: number): void {
    this.#texts.release(this.#source[slot]!);
    this.#texts.release(this.#getAddress[slot]!);
    if (this.#flags[slot]! & IS_PAID_IN_TOKEN) this.#texts.release(this.#paidIn[slot]!);
    this.#wide.delete(slot);
    this.#free.push(slot);
  }

  /** Returns a record, with the place at which it was found. */
  at(slot: number, place: string | null): OfferRecord {
    const kind = this.kindOf(slot);
    const isPaidInToken = (this.#flags[slot]! & IS_PAID_IN_TOKEN) !== 0;
    return {
      index: this.indexOf(slot),
      kind,
      source: this.#texts.at(this.#source[slot]!),
      getAddress: this.#texts.at(this.#getAddress[slot]!),
      place,
      isEmpty: (this.#flags[slot]! & IS_EMPTY) !== 0,
      paidIn: isPaidInToken ? this.#texts.at(this.#paidIn[slot]!) : null,
      give: this.#giveOf(slot),
      get: this.getOf(slot),
      endsAt: this.hasEnd(slot) ? this.endOf(slot) : null,
      closesAt: this.hasClose(slot) ? this.closeOf(slot) : null,
      parties: kind === 'coinpay' ? [this.partyOf(slot, 0), this.partyOf(slot, 1)] : []
    };
  }

  setGetAddress(slot: number, address: string): void {
    this.#texts.release(this.#getAddress[slot]!);
    this.#getAddress[slot] = this.#texts.take(address);
  }

  indexOf(slot: number): number {
    return this.#index[slot]!;
  }

  kindOf(slot: number): OfferKind {
    return KINDS[this.#flags[slot]! % KINDS.length]!;
  }

  /** Returns the number of a source; undefined for one without live offers. */
  numberOf(source: string): number | undefined {
    return this.#texts.find(source);
  }

  sourceOf(slot: number): number {
    return this.#source[slot]!;
  }

  getOf(slot: number): bigint {
    return this.#wide.get(slot)?.get ?? this.#amountAt(slot * 4 + 2);
  }

  hasPlace(slot: number): boolean {
    return (this.#flags[slot]! & HAS_PLACE) !== 0;
  }

  hasEnd(slot: number): boolean {
    return !Number.isNaN(this.#endsAt[slot]);
  }

  endOf(slot: number): number {
    return this.#endsAt[slot]!;
  }

  hasClose(slot: number): boolean {
    return !Number.isNaN(this.#closesAt[slot]);
  }

  closeOf(slot: number): number {
    return this.#closesAt[slot]!;
  }

  /** Returns an order of a match. @param side 0 or 1 */
  partyOf(slot: number, side: number): number {
    return this.#place[slot * DIGEST_PARTS + side]!;
  }

  /** Compares the place of an offer with a digest. @returns a number below, above or equal to 0 */
  comparePlace(slot: number, digest: readonly number[]): number {
    for (let part = 0; part < DIGEST_PARTS; part++) {
      const difference = this.#place[slot * DIGEST_PARTS + part]! - digest[part]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Compares the places of two offers. */
  comparePlaces(a: number, b: number): number {
    for (let part = 0; part < DIGEST_PARTS; part++) {
      const difference = this.#place[a * DIGEST_PARTS + part]! - this.#place[b * DIGEST_PARTS + part]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Compares prices: the offer that gives most for what it gets comes first. */
  comparePrices(a: number, b: number): number {
    const [about, other] = [this.#ratio[a]!, this.#ratio[b]!];
    // Rounding makes a difference of some 10^-16; false for what is no number.
    if (Math.abs(about - other) > 1e-12 * Math.max(about, other)) return other - about;
    const [first, second] = [this.#giveOf(a) * this.getOf(b), this.#giveOf(b) * this.getOf(a)];
    return first > second ? -1 : first < second ? 1 : 0;
  }

  #giveOf(slot: number): bigint {
    return this.#wide.get(slot)?.give ?? this.#amountAt(slot * 4);
  }

  #amountAt(at: number): bigint {
    const high = this.#amounts[at + 1]!;
    return high === 0n ? this.#amounts[at]! : (high << WORD) + this.#amounts[at]!;
  }

  #grow(): void {
    this.#slots *= 2;
    const grown = <T extends { set(from: T): void }>(to: T, from: T): T => {
      to.set(from);
      return to;
    };
    this.#index = grown(new Float64Array(this.#slots), this.#index);
    this.#flags = grown(new Uint8Array(this.#slots), this.#flags);
    this.#source = grown(new Uint32Array(this.#slots), this.#source);
    this.#getAddress = grown(new Uint32Array(this.#slots), this.#getAddress);
    this.#paidIn = grown(new Uint32Array(this.#slots), this.#paidIn);
    this.#place = grown(new Float64Array(this.#slots * DIGEST_PARTS), this.#place);
    this.#amounts = grown(new BigUint64Array(this.#slots * 4), this.#amounts);
    this.#ratio = grown(new Float64Array(this.#slots), this.#ratio);
    this.#endsAt = grown(new Float64Array(this.#slots), this.#endsAt);
    this.#closesAt = grown(new Float64Array(this.#slots), this.#closesAt);
  }
}
