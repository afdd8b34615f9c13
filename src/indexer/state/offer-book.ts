import { counterOf, isLive, marketOf, type Offer, type OfferKind, type Spelling } from './offer.ts';
import { digestOf, OfferColumns, type OfferRecord } from './offer-columns.ts';
import { SortedChunks, type Sorting } from './sorted-chunks.ts';

/** Entry of a live offer in the book. */
export type Entry = OfferRecord;

/** Compares trades of a market: the one that gives most for what it gets comes first, of equal ones the oldest. */
export function compareMakers(a: Entry, b: Entry): number {
  const [first, second] = [a.give * b.get, b.give * a.get];
  return first > second ? -1 : first < second ? 1 : a.index - b.index;
}

/** Compares two slots. */
type Compare = (a: number, b: number) => number;
const PRICELESS = { priceOf: () => 0n };

/**
 * Live offers, sorted as they are looked for: at their place by price or age, by their ends, and by source.
 *
 * The records are outside the heap, and lists hold their slots. There is one list for all places and one for all
 * sources: anybody can make a place for each offer.
 */
export class OfferBook {
  readonly #columns = new OfferColumns();
  readonly #byIndex = new SortedChunks<number>({ ...PRICELESS, compare: (a, b) => this.#compareAges(a, b) });
  readonly #places = new SortedChunks<number>(this.#atPlaces());
  readonly #ends = new Map<OfferKind, SortedChunks<number>>();
  readonly #closing = this.#sortedBy((a, b) => this.#columns.closeOf(a) - this.#columns.closeOf(b));
  readonly #sources = new Map<OfferKind, SortedChunks<number>>();
  /** Number of offers of each kind and source. */
  readonly #counts = new Map<string, number>();
  /** Slots times two, plus the side of the match, by the order. */
  readonly #awaited = new SortedChunks<number>({
    ...PRICELESS,
    compare: (a, b) => this.#partyOf(a) - this.#partyOf(b) || this.#compareAges(a >>> 1, b >>> 1) || a - b
  });

  put(offer: Offer): void {
    this.forget(offer.index);
    if (isLive(offer)) this.#insert(entryOf(offer));
  }

  /** Removes an offer that does not exist any more. */
  forget(index: number): void {
    const slot = firstOf(this.#byIndex.from((other) => this.#columns.indexOf(other) < index));
    if (slot !== undefined && this.#columns.indexOf(slot) === index) this.#remove(slot);
  }

  /** Writes the addresses of all offers in the spelling that counts from now on. */
  respell(spell: Spelling): void {
    for (const slot of [...this.#byIndex.from(() => false)]) {
      const entry = this.#columns.at(slot, null);
      const getAddress = spell(entry.getAddress);
      if (getAddress === entry.getAddress) continue;
      if (entry.kind === 'dispenser') {
        this.#remove(slot);
        this.#insert(atCounter({ ...entry, getAddress }));
      } else this.#columns.setGetAddress(slot, getAddress);
    }
  }

  /** Yields the indexes of the live offers of a kind and source, oldest first. */
  *of(kind: OfferKind, source: string): Generator<number> {
    const number = this.#columns.numberOf(source);
    if (number === undefined) return;
    const sourceOf = (slot: number) => this.#columns.sourceOf(slot);
    for (const slot of this.#sources.get(kind)?.from((other) => sourceOf(other) < number) ?? []) {
      if (sourceOf(slot) !== number) return;
      yield this.#columns.indexOf(slot);
    }
  }

  /** Returns the number of live offers of a kind and source. */
  countOf(kind: OfferKind, source: string): number {
    return this.#counts.get(`${kind}|${source}`) ?? 0;
  }

  /** Yields the indexes of the matches of an order that wait for a payment. */
  *awaitedBy(order: number): Generator<number> {
    for (const item of this.#awaited.from((other) => this.#partyOf(other) < order)) {
      if (this.#partyOf(item) !== order) return;
      yield this.#columns.indexOf(item >>> 1);
    }
  }

  /** Returns the offers at a market or counter, in the order in which they are taken. @see SortedChunks.from */
  *at(place: string, isBefore: (entry: Entry) => boolean, most?: bigint): Generator<Entry> {
    const digest = digestOf(place);
    const isInFront = (slot: number) => {
      const compared = this.#columns.comparePlace(slot, digest);
      return compared < 0 || (compared === 0 && isBefore(this.#columns.at(slot, place)));
    };
    const isBehind = (slot: number) => this.#columns.comparePlace(slot, digest) > 0;
    for (const slot of this.#places.from(isInFront, most, isBehind)) yield this.#columns.at(slot, place);
  }

  /** Yields the offers of a kind whose time is over, those that ended first in front. */
  *ending(kind: OfferKind, time: number): Generator<Entry> {
    for (const slot of this.#ends.get(kind)?.from(() => false) ?? []) {
      if (this.#columns.endOf(slot) > time) return;
      yield this.#columns.at(slot, null);
    }
  }

  /** Yields the cancelled dispensers whose last hour is over. */
  *closing(time: number): Generator<Entry> {
    for (const slot of this.#closing.from(() => false)) {
      if (this.#columns.closeOf(slot) > time) return;
      yield this.#columns.at(slot, null);
    }
  }

  /** Yields the indexes of all live offers of a kind, oldest first. */
  *ofKind(kind: OfferKind): Generator<number> {
    for (const slot of this.#byIndex.from(() => false))
      if (this.#columns.kindOf(slot) === kind) yield this.#columns.indexOf(slot);
  }

  #insert(entry: Entry): void {
    const slot = this.#columns.add(entry);
    for (const { list, item } of this.#listed(slot)) list.add(item);
    this.#count(entry, 1);
  }

  #remove(slot: number): void {
    for (const { list, item } of this.#listed(slot)) list.delete(item);
    this.#count(this.#columns.at(slot, null), -1);
    this.#columns.remove(slot);
  }

  /** Returns the lists that a slot belongs to, with its item there. */
  #listed(slot: number): { readonly list: SortedChunks<number>; readonly item: number }[] {
    const columns = this.#columns;
    const kind = columns.kindOf(slot);
    const lists = [
      this.#byIndex,
      ...(columns.hasPlace(slot) ? [this.#places] : []),
      ...(columns.hasEnd(slot)
        ? [listOf(this.#ends, kind, () => this.#sortedBy((a, b) => columns.endOf(a) - columns.endOf(b)))]
        : []),
      ...(columns.hasClose(slot) ? [this.#closing] : []),
      listOf(this.#sources, kind, () => this.#sortedBy((a, b) => columns.sourceOf(a) - columns.sourceOf(b)))
    ].map((list) => ({ list, item: slot }));
    const sides = kind === 'coinpay' ? [0, 1] : [];
    return [...lists, ...sides.map((side) => ({ list: this.#awaited, item: slot * 2 + side }))];
  }

  #count({ kind, source }: Entry, change: number): void {
    const key = `${kind}|${source}`;
    const count = this.countOf(kind, source) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }

  #partyOf(item: number): number {
    return this.#columns.partyOf(item >>> 1, item % 2);
  }

  #compareAges(a: number, b: number): number {
    return this.#columns.indexOf(a) - this.#columns.indexOf(b);
  }

  /** Returns an empty list in an order, of equal ones the oldest first. */
  #sortedBy(compare: Compare): SortedChunks<number> {
    return new SortedChunks({ ...PRICELESS, compare: (a, b) => compare(a, b) || this.#compareAges(a, b) });
  }

  /** Returns the order of all places: trades by price, dispensers by age. The price of a fill decides which to pass over. */
  #atPlaces(): Sorting<number> {
    const columns = this.#columns;
    const isDispenser = (slot: number) => columns.kindOf(slot) === 'dispenser';
    return {
      compare: (a, b) =>
        columns.comparePlaces(a, b) || (isDispenser(a) ? 0 : columns.comparePrices(a, b)) || this.#compareAges(a, b),
      priceOf: (slot) => (isDispenser(slot) ? columns.getOf(slot) : 0n)
    };
  }
}

/** Suffix of the place of dispensers that the paid address itself opened; before EMPTY_COUNTER. */
export const OWN_COUNTER = '|own';
/** Suffix of the place of dispensers that hold too little for a fill. */
export const EMPTY_COUNTER = '|empty';
/** Suffix of the place of trades with lists of their own, which may exclude everybody. */
export const LISTED_MARKET = '|listed';

function entryOf(offer: Offer): Entry {
  const { index, kind, expiration } = offer;
  const common = { index, kind, closesAt: null, isEmpty: false, parties: [], paidIn: null };
  switch (offer.kind) {
    case 'coinpay': {
      const { seller, buyer } = offer;
      const nobody = { source: '', getAddress: '', place: null, give: 0n, get: 0n };
      return { ...common, ...nobody, endsAt: expiration, parties: [seller, buyer] };
    }
    case 'dispenser': {
      const { source, getAddress, give, get, left, closesAt } = offer;
      return atCounter({
        ...common,
        source,
        getAddress,
        place: null,
        isEmpty: left < give.amount,
        paidIn: get.tick,
        give: give.amount,
        get: get.amount,
        // A cancelled dispenser sells until it closes.
        endsAt: offer.status === 'open' ? expiration : null,
        closesAt
      });
    }
    default: {
      const { source, getAddress, give, get, giveLeft, getLeft, allowList, blockList } = offer;
      const isOpen = offer.status === 'open';
      const isListed = allowList !== null || blockList !== null;
      const market = marketOf(offer) + (isListed ? LISTED_MARKET : '');
      const place = isOpen && giveLeft > 0n && getLeft > 0n ? market : null;
      const endsAt = isOpen ? expiration : null;
      return { ...common, source, getAddress, place, give: give.amount, get: get.amount, endsAt };
    }
  }
}

/** Returns the entry of a dispenser with its place. */
function atCounter(entry: Entry): Entry {
  const { source, getAddress, paidIn, isEmpty } = entry;
  const counter = counterOf(getAddress, paidIn) + (source === getAddress ? OWN_COUNTER : '');
  return { ...entry, place: counter + (isEmpty ? EMPTY_COUNTER : '') };
}

function firstOf(slots: Iterable<number>): number | undefined {
  for (const slot of slots) return slot;
  return undefined;
}

function listOf(lists: Map<OfferKind, SortedChunks<number>>, kind: OfferKind, make: () => SortedChunks<number>) {
  const list = lists.get(kind) ?? make();
  lists.set(kind, list);
  return list;
}
