import { readReference } from '../../coin/action/fields.ts';
import { compareBytes } from '../../consensus/byte-order.ts';
import { FactTable } from './fact-table.ts';
import {
  type FactKey,
  type Facts,
  headOf,
  type Kind,
  type List,
  type ListCount,
  type ListHead,
  type Preferences,
  type Reader
} from './facts.ts';
import type { Holding } from './holding.ts';
import { memberKey, pairKey, sleeperKey, tickKey } from './keys.ts';
import { isLive, type Offer, type OfferKind } from './offer.ts';
import type { Entry, OfferBook } from './offer-book.ts';
import type { Poll } from './poll.ts';
import type { Token } from './token.ts';
import { COUNTED_BY, type CountedSet, type View } from './view.ts';

const NOBODY: ReadonlySet<string> = new Set();

type OfferOf<K extends OfferKind> = Extract<Offer, { readonly kind: K }> | (Offer & { readonly kind: K });

/**
 * State that one action reads: a view that it leaves as it is, with its own changes on top.
 *
 * Every method may throw `Missing`; the action is then run again from its start.
 */
export class ActionState implements Reader {
  readonly changes = new FactTable();
  protected readonly view: View;
  /** Addresses whose balances of a token this action changed, by `tickKey`. */
  protected readonly moved = new Map<string, Set<string>>();
  /** Matches that this action made or changed, by their orders. */
  protected readonly obligations = new Map<number, Set<number>>();

  constructor(view: View) {
    this.view = view;
  }

  get<K extends Kind>(kind: K, key: string): Facts[K] {
    const changed = this.changes.get(kind, key);
    return changed === undefined ? this.read(kind, key) : changed;
  }

  /** Reads a fact as it was before the action. */
  protected read<K extends Kind>(kind: K, key: string): Facts[K] {
    return this.view.get(kind, key);
  }

  /** Requests several facts at once. There may be very many: all that an action names, all holders of a token. */
  request(keys: readonly FactKey[]): void {
    this.view.request(keys);
  }

  /** Returns whether some of these facts have to be loaded. */
  lacks(keys: readonly FactKey[]): boolean {
    return this.view.missing(keys).length > 0;
  }

  /** Returns the address that a field names, as text or by `^id`; null when the id names none. */
  addressOf(field: string): string | null {
    const id = readReference(field);
    return id === null ? field : this.get('address', String(id));
  }

  /** Returns the ticker that a field names, as text or by `^id`; null when the id names none. */
  tickOf(field: string): string | null {
    const id = readReference(field);
    return id === null ? field : this.get('tick', String(id));
  }

  /** Returns the token that a field names, as ticker or by `^id`. */
  token(field: string): Token | null {
    const tick = this.tickOf(field);
    return tick === null || tick === '' ? null : this.get('token', tickKey(tick));
  }

  /** Requests the tickers that fields name by `^id`. @see tickOf */
  requestTicks(fields: readonly string[]): void {
    const ids = fields.flatMap((field) => readReference(field) ?? []);
    this.request(ids.map((id) => ({ kind: 'tick', key: String(id) }) as const));
  }

  /** Requests the tokens that fields name. @see token */
  requestTokens(fields: readonly string[]): void {
    this.requestTicks(fields);
    const ticks = fields.flatMap((field) => this.tickOf(field) || []);
    this.request(ticks.map((tick) => ({ kind: 'token', key: tickKey(tick) }) as const));
  }

  /** Requests lists. @param indexes see `list` */
  requestLists(indexes: readonly number[]): void {
    const keys = indexes.map(String);
    this.request(keys.map((key) => ({ kind: 'listRoot', key }) as const));
    const roots = keys.flatMap((key) => this.get('listRoot', key) ?? []);
    this.request(roots.map((root) => ({ kind: 'list', key: String(root) }) as const));
  }

  /** Requests the heads of lists. @param indexes see `list` */
  requestListHeads(indexes: readonly number[]): void {
    this.request(indexes.map((index) => ({ kind: 'listRoot', key: String(index) }) as const));
    const roots = indexes.flatMap((index) => this.listRoot(index) ?? []);
    const unread = roots.filter((root) => !this.knownList(root));
    this.request(unread.map((root) => ({ kind: 'listHead', key: String(root) }) as const));
  }

  /** Requests the addresses that fields name by `^id`. @see addressOf */
  requestAddresses(fields: readonly string[]): void {
    const ids = fields.flatMap((field) => readReference(field) ?? []);
    this.request(ids.map((id) => ({ kind: 'address', key: String(id) }) as const));
  }

  balance(tick: string, address: string): bigint {
    return this.get('balance', pairKey(tick, address));
  }

  /** Requests what credits of a token to addresses read. Otherwise each of very many may be found missing by itself. */
  requestCredits({ tick }: Pick<Token, 'tick'>, addresses: readonly string[]): void {
    this.request(
      addresses.flatMap((address) => [
        { kind: 'addressId', key: address } as const,
        { kind: 'balance', key: pairKey(tick, address) } as const
      ])
    );
  }

  /** Returns the addresses that hold some of a token, in byte order; null where they are more than a number. */
  holders({ tick }: Token, most = Number.POSITIVE_INFINITY): Holding[] | null {
    return this.holdersWithin([tick], most)?.[0] ?? null;
  }

  /** Returns the addresses that hold some of each token, in byte order. @param ticks tickers of tokens */
  holdersOf(ticks: readonly string[]): Holding[][] {
    const keys = ticks.map(tickKey);
    this.request(keys.map((key) => ({ kind: 'holders', key }) as const));
    const names = keys.map((key) => [...this.get('holders', key).union(this.moved.get(key) ?? NOBODY)]);
    this.request(
      names.flatMap((addresses, at) =>
        addresses.map((address) => ({ kind: 'balance', key: pairKey(keys[at]!, address) }) as const)
      )
    );
    return names.map((addresses, at) =>
      addresses
        .map((address) => ({ address, amount: this.balance(keys[at]!, address) }))
        .filter(({ amount }) => amount > 0n)
        .sort((a, b) => compareBytes(a.address, b.address))
    );
  }

  /**
   * Returns `holdersOf` the tokens; null where they are more than a number together. They are counted first: far more
   * than that are not read.
   */
  holdersWithin(ticks: readonly string[], most: number): Holding[][] | null {
    if (this.#fewestHolders(ticks, most) > most) return null;
    const held = this.holdersOf(ticks);
    return held.reduce((sum, { length }) => sum + length, 0) > most ? null : held;
  }

  /** Returns a number of holders of tokens together that is not above the true one; 0 where there may be any number. */
  #fewestHolders(ticks: readonly string[], most: number): number {
    if (most === Number.POSITIVE_INFINITY) return 0;
    const keys = ticks.map(tickKey);
    return this.#fewest(keys.map((key) => ['holders', key] as const)).reduce(
      (sum, count, at) => sum + Math.max(0, count - (this.moved.get(keys[at]!)?.size ?? 0)),
      0
    );
  }

  /** Returns numbers that are not above the sizes of sets before this action. Reads no member. */
  #fewest(sets: readonly (readonly [kind: CountedSet, key: string])[]): number[] {
    const unknown = sets.filter(([kind, key]) => this.view.fewest(kind, key) === undefined);
    this.request(unknown.map(([kind, key]) => ({ kind: COUNTED_BY[kind], key })));
    return sets.map(([kind, key]) => this.view.fewest(kind, key) ?? this.get(COUNTED_BY[kind], key));
  }

  /** Returns whether any other address holds some of a token. Reads no more holders than it has to. */
  isHeldBeside(tick: string, owner: string): boolean {
    if (this.#fewestHolders([tick], 1) > 1) return true;
    return this.get('holders', tickKey(tick))
      .values()
      .some((address) => address !== owner && this.balance(tick, address) > 0n);
  }

  /**
   * Returns a number of holdings or owned tokens of an address that is not above the true one before this action. Reads
   * none of them.
   */
  fewestItems(sets: readonly ('holdings' | 'owned')[], address: string): number {
    return this.#fewest(sets.map((kind) => [kind, address] as const)).reduce((sum, count) => sum + count, 0);
  }

  /** Returns the tokens that an address holds some of, tickers in byte order. */
  holdings(address: string): { readonly token: Token; readonly amount: bigint }[] {
    const moved = [...this.moved].filter(([, addresses]) => addresses.has(address)).map(([tick]) => tick);
    const ticks = [...this.get('holdings', address).union(new Set(moved))];
    this.request(
      ticks.flatMap((tick) => [
        { kind: 'balance', key: pairKey(tick, address) } as const,
        { kind: 'token', key: tick } as const
      ])
    );
    return ticks
      .map((tick) => ({ token: this.get('token', tick)!, amount: this.balance(tick, address) }))
      .filter(({ amount }) => amount > 0n)
      .sort((a, b) => compareBytes(a.token.tick, b.token.tick));
  }

  /** Returns the tokens of an owner, tickers in byte order. */
  owned(address: string): Token[] {
    const ticks = [...this.get('owned', address)];
    this.request(ticks.map((key) => ({ kind: 'token', key }) as const));
    return ticks
      .map((tick) => this.get('token', tick)!)
      .filter(({ owner }) => owner === address)
      .sort((a, b) => compareBytes(a.tick, b.tick));
  }

  /** Returns the action that made a list; null for none. Reads no member. @param actionIndex see `list` */
  listRoot(actionIndex: number): number | null {
    return this.get('listRoot', String(actionIndex));
  }

  /** Returns the head of a list; null for no list. Reads no member. @param actionIndex see `list` */
  listHead(actionIndex: number): ListHead | null {
    const root = this.listRoot(actionIndex);
    const known = root === null ? null : this.knownList(root);
    if (known) return headOf(known);
    return root === null ? null : this.get('listHead', String(root));
  }

  /** Returns a list that is in memory; undefined for any other. */
  knownList(root: number): List | null | undefined {
    return this.changes.get('list', String(root)) ?? this.view.find('list', String(root));
  }

  /** Returns a list as it is now, by the action that made it or by an edit of it. */
  list(actionIndex: number): { readonly root: number; readonly list: List } | null {
    const root = this.listRoot(actionIndex);
    const list = root === null ? null : this.get('list', String(root));
    return root === null || list === null ? null : { root, list };
  }

  /**
   * Returns whether a list has an item. The other members are not read. @param actionIndex see `list`
   *
   * A list that is in memory stays there for as long as facts of its members that were read before.
   */
  isMember(actionIndex: number, item: string): boolean {
    const root = this.listRoot(actionIndex);
    if (root === null) return false;
    const known = this.knownList(root);
    return known === undefined ? this.get('member', memberKey(root, item)) : (known?.members.has(item) ?? false);
  }

  /** Requests what `isMember` and `listCount` read. */
  requestMembers(root: number, items: readonly string[]): void {
    if (this.knownList(root) !== undefined) return;
    this.request([
      { kind: 'listCount', key: String(root) },
      ...items.map((item) => ({ kind: 'member', key: memberKey(root, item) }) as const)
    ]);
  }

  /** Returns the numbers of a list that is there. No member is read. @param root action that made it */
  listCount(root: number): ListCount {
    const known = this.knownList(root);
    return known ? { size: known.members.size, changes: known.changes } : this.get('listCount', String(root))!;
  }

  isAsleep(type: 'address' | 'tick', name: string, height: number): boolean {
    const wakes = this.get('sleep', sleeperKey(type, name));
    return wakes !== null && (wakes === -1 || wakes > height);
  }

  /** Returns an offer of a kind by the index of its action, even if it has ended. */
  offer<K extends OfferKind>(kind: K, index: number): OfferOf<K> | null {
    const offer = this.get('offer', String(index));
    return offer?.kind === kind ? (offer as OfferOf<K>) : null;
  }

  /** Returns the live offers of a kind that an address made before this action, oldest first. */
  offersOf<K extends OfferKind>(kind: K, source: string): OfferOf<K>[] {
    const indexes = [...this.#bookOf(source).of(kind, source)];
    this.request(indexes.map(offerFact));
    return indexes
      .map((index) => this.offer(kind, index))
      .filter((offer): offer is OfferOf<K> => offer !== null && isLive(offer));
  }

  /** Counts what `offersOf` returns, by the book alone. */
  countOffersOf(kind: OfferKind, source: string): number {
    return this.#bookOf(source).countOf(kind, source);
  }

  /** Returns the book, with the live offers of a source. */
  #bookOf(source: string): OfferBook {
    if (!this.view.hasAllOffers) this.request([{ kind: 'liveOffers', key: source }]);
    return this.view.book;
  }

  /**
   * Returns the offers of a kind that end at a time or before, those that end first in front. @param most limit of
   * their number
   */
  offersEnding<K extends OfferKind>(kind: K, time: number, most: number): OfferOf<K>[] {
    return this.#all(kind, this.view.book.ending(kind, time).take(most));
  }

  /** Returns the open polls that close at the end of a block, or should have before. @param most limit of their number */
  pollsEnded(height: number, most: number): Poll[] {
    return this.polls(this.view.polls.ended(height).take(most));
  }

  /** Returns polls by their indexes. */
  polls(indexes: Iterable<number>): Poll[] {
    const keys = [...indexes].map(String);
    this.request(keys.map((key) => ({ kind: 'poll', key }) as const));
    return keys.map((key) => this.get('poll', key)!);
  }

  /** Returns the cancelled dispensers whose last hour is over. @param most limit of their number */
  dispensersClosing(time: number, most: number): OfferOf<'dispenser'>[] {
    return this.#all('dispenser', this.view.book.closing(time).take(most));
  }

  #all<K extends OfferKind>(kind: K, entries: Iterable<Entry>): OfferOf<K>[] {
    const found = [...entries];
    this.request(found.map(({ index }) => offerFact(index)));
    this.request(found.map(({ source }) => ({ kind: 'addressId', key: source }) as const));
    return found.map(({ index }) => this.offer(kind, index)!);
  }

  /**
   * Returns the offers at a market or counter, in the order in which they are taken. Those that this action changes or
   * makes are as they were before it.
   *
   * @see OfferBook.at
   */
  offersAt(place: string, isBefore: (entry: Entry) => boolean, most?: bigint): Iterable<Entry> {
    return this.view.book.at(place, isBefore, most);
  }

  /** Returns how many offers at a place to load together. @see View.aheadAt */
  aheadAt(place: string): number {
    return this.view.aheadAt(place, true);
  }

  /** Returns whether a match of an order waits for a payment. */
  isAwaited(order: number): boolean {
    if (!this.view.hasAllOffers) this.get('awaitedMatches', String(order));
    const changed = this.obligations.get(order);
    for (const index of changed ?? []) if (isLive(this.get('offer', String(index))!)) return true;
    for (const index of this.view.book.awaitedBy(order)) if (!changed?.has(index)) return true;
    return false;
  }

  preferences(address: string): Preferences | null {
    return this.get('preferences', address);
  }
}

/** Returns the key of the fact of an offer. */
export function offerFact(index: number): FactKey {
  return { kind: 'offer', key: String(index) };
}
