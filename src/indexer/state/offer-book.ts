import { counterOf, isLive, marketOf, type Offer, type OfferKind, type Spelling } from './offer.ts';
import { SortedChunks, type Sorting } from './sorted-chunks.ts';

/** Entry of a live offer in the book: enough to find the offer, not to carry it out. */
export interface Entry {
  readonly index: number;
  readonly kind: OfferKind;
  /** Source of the offer; of a match that waits for a payment nobody. */
  readonly source: string;
  /** Address that is paid by whoever takes the offer. */
  readonly getAddress: string;
  /** Market or counter at which it is found; null where nobody looks for it. */
  readonly place: string | null;
  /** Ticker that a dispenser is paid in; null for the chain's own coin, and for any other offer. */
  readonly paidIn: string | null;
  readonly give: bigint;
  readonly get: bigint;
  /** Epoch seconds; null while it does not end by its time. */
  readonly endsAt: number | null;
  /** Epoch seconds at which a cancelled dispenser closes; null for any other offer. */
  readonly closesAt: number | null;
  /** Orders of a match that waits for a payment. */
  readonly parties: readonly number[];
}

const byIndex = (a: Entry, b: Entry) => a.index - b.index;

/** Compares trades of a market: the one that gives most for what it gets comes first, of equal ones the oldest. */
export function compareMakers(a: Entry, b: Entry): number {
  const [first, second] = [a.give * b.get, b.give * a.get];
  return first > second ? -1 : first < second ? 1 : byIndex(a, b);
}

const BY_PRICE: Sorting<Entry> = { compare: compareMakers, priceOf: () => 0n };
/** Order of counters: the oldest first. The price of a fill decides which to pass over. */
const BY_AGE: Sorting<Entry> = { compare: byIndex, priceOf: ({ get }) => get };
const BY_END: Sorting<Entry> = {
  compare: (a, b) => a.endsAt! - b.endsAt! || byIndex(a, b),
  priceOf: () => 0n
};
const BY_CLOSE: Sorting<Entry> = {
  compare: (a, b) => a.closesAt! - b.closesAt! || byIndex(a, b),
  priceOf: () => 0n
};

/** Live offers, sorted as they are looked for: at their place by price or age, by their ends, and by source. */
export class OfferBook {
  readonly #entries = new Map<number, Entry>();
  readonly #places = new Map<string, SortedChunks<Entry>>();
  readonly #ends = new Map<OfferKind, SortedChunks<Entry>>();
  readonly #closing = new SortedChunks(BY_CLOSE);
  readonly #sources = new Map<string, Set<number>>();
  readonly #awaited = new Map<number, Set<number>>();

  put(offer: Offer): void {
    const former = this.#entries.get(offer.index);
    if (former) this.#remove(former);
    if (isLive(offer)) this.#insert(entryOf(offer));
  }

  /** Removes an offer that does not exist any more. */
  forget(index: number): void {
    const entry = this.#entries.get(index);
    if (entry) this.#remove(entry);
  }

  /** Writes the addresses of all offers in the spelling that counts from now on. */
  respell(spell: Spelling): void {
    for (const entry of this.#entries.values()) {
      const getAddress = spell(entry.getAddress);
      if (getAddress === entry.getAddress) continue;
      this.#remove(entry);
      this.#insert(entry.kind === 'dispenser' ? atCounter({ ...entry, getAddress }) : { ...entry, getAddress });
    }
  }

  /** Returns the indexes of the live offers of a kind and source. */
  of(kind: OfferKind, source: string): ReadonlySet<number> {
    return this.#sources.get(`${kind}|${source}`) ?? NONE;
  }

  /** Returns the indexes of the matches of an order that wait for a payment. */
  awaitedBy(order: number): ReadonlySet<number> {
    return this.#awaited.get(order) ?? NONE;
  }

  /** Returns the offers at a market or counter, in the order in which they are taken. @see SortedChunks.from */
  at(place: string, isBefore: (entry: Entry) => boolean, most?: bigint): Iterable<Entry> {
    return this.#places.get(place)?.from(isBefore, most) ?? [];
  }

  /** Yields the offers of a kind whose time is over, those that ended first in front. */
  *ending(kind: OfferKind, time: number): Generator<Entry> {
    yield* until(this.#ends.get(kind), ({ endsAt }) => endsAt! <= time);
  }

  /** Yields the cancelled dispensers whose last hour is over. */
  *closing(time: number): Generator<Entry> {
    yield* until(this.#closing, ({ closesAt }) => closesAt! <= time);
  }

  /** Yields the indexes of all live offers of a kind. */
  *ofKind(kind: OfferKind): Generator<number> {
    for (const entry of this.#entries.values()) if (entry.kind === kind) yield entry.index;
  }

  #insert(entry: Entry): void {
    const { index, kind, source, place, endsAt, closesAt, parties } = entry;
    this.#entries.set(index, entry);
    if (place !== null) sorted(this.#places, place, kind === 'dispenser' ? BY_AGE : BY_PRICE).add(entry);
    if (endsAt !== null) sorted(this.#ends, kind, BY_END).add(entry);
    if (closesAt !== null) this.#closing.add(entry);
    mark(this.#sources, `${kind}|${source}`, index);
    for (const party of parties) mark(this.#awaited, party, index);
  }

  #remove(entry: Entry): void {
    const { index, kind, source, place, endsAt, closesAt, parties } = entry;
    this.#entries.delete(index);
    const entries = place === null ? undefined : this.#places.get(place);
    entries?.delete(entry);
    if (entries?.isEmpty) this.#places.delete(place!);
    if (endsAt !== null) this.#ends.get(kind)?.delete(entry);
    if (closesAt !== null) this.#closing.delete(entry);
    unmark(this.#sources, `${kind}|${source}`, index);
    for (const party of parties) unmark(this.#awaited, party, index);
  }
}

const NONE: ReadonlySet<number> = new Set();

/** Suffix of the place of dispensers that the paid address itself opened; before EMPTY_COUNTER. */
export const OWN_COUNTER = '|own';
/** Suffix of the place of dispensers that hold too little for a fill. */
export const EMPTY_COUNTER = '|empty';
/** Suffix of the place of trades with lists of their own, which may exclude everybody. */
export const LISTED_MARKET = '|listed';

function entryOf(offer: Offer): Entry {
  const { index, kind, expiration } = offer;
  const common = { index, kind, closesAt: null, parties: [], paidIn: null };
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
        place: left < give.amount ? EMPTY_COUNTER : '',
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

/** Returns the entry of a dispenser with its place, which says at the end whether the dispenser is empty. */
function atCounter(entry: Entry): Entry {
  const { source, getAddress, paidIn, place } = entry;
  const counter = counterOf(getAddress, paidIn) + (source === getAddress ? OWN_COUNTER : '');
  return { ...entry, place: counter + (place!.endsWith(EMPTY_COUNTER) ? EMPTY_COUNTER : '') };
}

function* until(list: SortedChunks<Entry> | undefined, isMeant: (entry: Entry) => boolean): Generator<Entry> {
  for (const entry of list?.from(() => false) ?? []) {
    if (!isMeant(entry)) return;
    yield entry;
  }
}

function sorted<K>(lists: Map<K, SortedChunks<Entry>>, key: K, sorting: Sorting<Entry>): SortedChunks<Entry> {
  const known = lists.get(key);
  if (known) return known;
  const made = new SortedChunks(sorting);
  lists.set(key, made);
  return made;
}

function mark<K>(sets: Map<K, Set<number>>, key: K, index: number): void {
  const members = sets.get(key);
  if (members) members.add(index);
  else sets.set(key, new Set([index]));
}

function unmark<K>(sets: Map<K, Set<number>>, key: K, index: number): void {
  const members = sets.get(key);
  members?.delete(index);
  if (members?.size === 0) sets.delete(key);
}
