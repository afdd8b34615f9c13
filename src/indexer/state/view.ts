import { FactTable } from './fact-table.ts';
import { ABSENT, type FactKey, type Facts, headOf, type Kind, type List, Missing, type Reader } from './facts.ts';
import { memberKey, pairKey, splitPair } from './keys.ts';
import { type Offer, respelled, type Spelling } from './offer.ts';
import { OfferBook } from './offer-book.ts';
import type { Poll } from './poll.ts';
import { PollBook } from './poll-book.ts';
import type { Token } from './token.ts';
import { type SetKind, Unwritten } from './unwritten.ts';

/** Facts that decide who is in a set, by the set. Their keys name the set and the member. */
const DECIDED_BY = { voters: 'ballot', delegators: 'voteDelegate' } as const;

/** Facts that count the members of sets, by the set. */
export const COUNTED_BY = { holders: 'holderCount', holdings: 'holdingCount', owned: 'ownedCount' } as const;
/** Set whose members are counted before they are read. */
export type CountedSet = keyof typeof COUNTED_BY;

/** Offers at a place that are loaded together at first. */
const OFFERS_AT_FIRST = 2;
/** Most offers that are loaded together because as many were asked for before. */
const MOST_OFFERS_AHEAD = 10_000;

/** Pairs and tokens whose rows are out of date, with the values in the rows; by `pairKey` and by `tickKey`. */
export interface Changed {
  readonly pairs: ReadonlyMap<string, bigint>;
  readonly tokens: ReadonlyMap<string, Token | null>;
}

/**
 * Known state of a database, in memory.
 *
 * A view that is `whole` has everything: a fact that it lacks does not exist. Any other view throws `Missing`.
 */
export class View implements Reader {
  #facts = new FactTable();
  /** Facts that were in memory at the last `age`, and have not been read since. */
  #old = new FactTable();
  /** Live offers: those of the whole database, or those that were loaded. */
  readonly book: OfferBook;
  /** Open polls of the whole database. They are put here together with all live offers. */
  readonly polls: PollBook;
  /** Whether the book has all live offers of the database. Otherwise `liveOffers` and `awaitedMatches` bring some. */
  hasAllOffers: boolean;
  /** Offers and polls that actions changed since `takeTouched`. */
  #touched = new Set<number>();
  readonly #isWhole: boolean;
  /** Pairs and tokens that changed since `takeChanged`, with their values before. */
  #changedPairs = new Map<string, bigint>();
  #changedTokens = new Map<string, Token | null>();
  readonly #unwritten = new Unwritten();
  /** Numbers of offers that were last loaded together, by place. */
  #ahead = new Map<string, number>();
  /** Spelling of the addresses of offers; undefined while these count as they were written. */
  #spelling: Spelling | undefined;

  /** @param book view whose books of offers and polls it takes over; that one is not to be used any more */
  constructor({ isWhole, book }: { readonly isWhole: boolean; readonly book?: View | undefined }) {
    this.#isWhole = isWhole;
    this.book = book?.book ?? new OfferBook();
    this.polls = book?.polls ?? new PollBook();
    this.hasAllOffers = book?.hasAllOffers ?? false;
    if (book) this.#spelling = book.#spelling;
  }

  /** Whether a spelling of the addresses of offers counts that is not as they were written. */
  get isRespelled(): boolean {
    return this.#spelling !== undefined;
  }

  /** Number of facts that were read or changed since the last `age`. */
  get size(): number {
    return this.#facts.size;
  }

  /** Forgets the facts that were not read since the last `age`. Changes before that one must be in the database. */
  age(): void {
    this.#old = this.#facts;
    this.#facts = new FactTable();
    this.#ahead = new Map();
  }

  /**
   * Returns how many offers at a place to load together: few at first, then twice as many each time, since the last
   * `age`. So hardly more are read than somebody asks for.
   *
   * @param isNextTime false returns the number of the last time again
   */
  aheadAt(place: string, isNextTime: boolean): number {
    const last = this.#ahead.get(place);
    if (last !== undefined && !isNextTime) return last;
    const count = last === undefined ? OFFERS_AT_FIRST : Math.min(2 * last, MOST_OFFERS_AHEAD);
    if (isNextTime) this.#ahead.set(place, count);
    return count;
  }

  get<K extends Kind>(kind: K, key: string): Facts[K] {
    const found = this.find(kind, key);
    if (found === undefined) throw new Missing([{ kind, key }]);
    return found;
  }

  /** Requests several facts at once, so that one load brings them all. @throws {Missing} */
  request(keys: readonly FactKey[]): void {
    const missing = this.missing(keys);
    if (missing.length > 0) throw new Missing(missing);
  }

  /** Returns a fact that is in memory; undefined for any other. */
  find<K extends Kind>(kind: K, key: string): Facts[K] | undefined {
    const found = this.#facts.get(kind, key);
    if (found !== undefined) return found;
    const older = this.#old.get(kind, key);
    if (older === undefined) return this.#isWhole || kind === 'spent' ? ABSENT[kind] : undefined; // no database has that
    this.#facts.set(kind, key, older);
    return older;
  }

  /** Returns the given facts that have to be loaded. */
  missing(keys: readonly FactKey[]): readonly FactKey[] {
    return this.#isWhole ? [] : keys.filter(({ kind, key }) => this.find(kind, key) === undefined);
  }

  /** Stores a fact as the database has it; undefined where it has none. */
  load<K extends Kind>(kind: K, key: string, value: Facts[K] | undefined): void {
    this.#facts.set(kind, key, value ?? ABSENT[kind]);
  }

  /** Stores an offer as the database has it, with its addresses in the spelling that counts. */
  loadOffer(key: string, written: Offer | undefined): void {
    const offer = written && this.#spelled(written);
    this.load('offer', key, offer);
    if (offer) this.book.put(offer);
  }

  /** Puts an offer into the book as the database has it again; undefined removes one that it has no more. */
  restoreOffer(index: number, written: Offer | undefined): void {
    if (written) this.book.put(this.#spelled(written));
    else this.book.forget(index);
  }

  /**
   * Makes the addresses of all offers count in the spelling of a block; undefined where they count as they were written.
   * Only the first spelling does something: no block below its height follows.
   */
  respell(spelling: Spelling | undefined): void {
    if (this.#spelling || !spelling) return;
    this.#spelling = spelling;
    for (const facts of [this.#facts, this.#old])
      for (const [key, offer] of facts.of('offer')) if (offer) facts.set('offer', key, respelled(offer, spelling));
    this.book.respell(spelling);
  }

  /** Stores those offers of the database that are not in memory, where they may have changed since. */
  loadOtherOffers(offers: Iterable<Offer>): void {
    for (const offer of offers)
      if (this.find('offer', String(offer.index)) === undefined) this.loadOffer(String(offer.index), offer);
  }

  /** Stores a set as the database has it, with the changes that are not yet written. */
  loadSet(kind: SetKind, key: string, members: Iterable<string>): void {
    const loaded = new Set(members);
    for (const member of this.#unwritten.of(kind, key))
      if (this.#isIn(kind, key, member)) loaded.add(member);
      else loaded.delete(member);
    this.#facts.set(kind, key, loaded);
  }

  /** Stores a list as the database has it, with the changes that are not yet written. */
  loadList(root: string, written: List | undefined): void {
    if (!written) {
      this.load('list', root, written);
      return;
    }
    const changed = [...this.#unwritten.of('list', root)];
    const isIn = (item: string) => this.find('member', memberKey(Number(root), item));
    const members = written.members
      .with(changed.filter((item) => isIn(item) === true))
      .without(changed.filter((item) => isIn(item) === false));
    const owner = this.find('listHead', root)?.owner ?? written.owner;
    const changes = this.find('listCount', root)?.changes ?? written.changes;
    this.#facts.set('list', root, { ...written, owner, members, changes });
  }

  /** Stores the size of a set as the database has it, less the members that may have changed since. */
  loadCount(kind: CountedSet, key: string, count: number): void {
    this.load(COUNTED_BY[kind], key, count - this.#unwritten.of(kind, key).size);
  }

  /** Returns a number that is not above the size of a set; undefined for an unknown size. */
  fewest(kind: CountedSet, key: string): number | undefined {
    return this.find(kind, key)?.size ?? this.find(COUNTED_BY[kind], key);
  }

  /** Applies an action's changes. */
  commit(changes: FactTable): void {
    for (const [key, token] of changes.of('token')) this.#tokenChanged(key, token);
    for (const [key, amount] of changes.of('balance')) this.#balanceChanged(key, amount);
    for (const kind of changes.kinds) this.#putAll(kind, changes);
    // A head may stay in memory for longer than its list.
    for (const [root, list] of changes.of('list')) if (list) this.#facts.set('listHead', root, headOf(list));
    for (const [, offer] of changes.of('offer')) if (offer) this.#offerChanged(offer);
    for (const key of changes.of('member').keys()) this.#unwritten.add('list', ...splitPair(key));
    for (const [, poll] of changes.of('poll')) if (poll) this.#pollChanged(poll);
    for (const set of ['voters', 'delegators'] as const)
      for (const [pair, value] of changes.of(DECIDED_BY[set])) this.#put(set, ...splitPair(pair), value !== null);
  }

  /**
   * Returns the pairs and tokens whose rows are out of date, and counts them as written from now on. The result of the
   * call before must be in the database.
   */
  takeChanged(): Changed {
    const taken = { pairs: this.#changedPairs, tokens: this.#changedTokens };
    this.#changedPairs = new Map();
    this.#changedTokens = new Map();
    this.#unwritten.turn();
    return taken;
  }

  /** Returns the offers and polls that actions changed since the call before. */
  takeTouched(): ReadonlySet<number> {
    const taken = this.#touched;
    this.#touched = new Set();
    return taken;
  }

  #offerChanged(offer: Offer): void {
    this.book.put(offer);
    this.#touched.add(offer.index);
  }

  #pollChanged(poll: Poll): void {
    this.polls.put(poll);
    this.#touched.add(poll.index);
  }

  #spelled(offer: Offer): Offer {
    return this.#spelling ? respelled(offer, this.#spelling) : offer;
  }

  #putAll<K extends Kind>(kind: K, changes: FactTable): void {
    for (const [key, value] of changes.of(kind)) this.#facts.set(kind, key, value);
  }

  #tokenChanged(key: string, token: Token | null): void {
    const found = this.find('token', key);
    const former = found ?? null;
    if (!this.#changedTokens.has(key)) this.#changedTokens.set(key, former);
    if (former && former.owner !== token?.owner) {
      this.#put('owned', former.owner, key, false);
      this.#recount('owned', former.owner, -1);
    }
    if (!token) return;
    this.#put('owned', token.owner, key, true);
    if (found !== undefined && found?.owner !== token.owner) this.#recount('owned', token.owner, 1);
  }

  #balanceChanged(key: string, amount: bigint): void {
    const former = this.find('balance', key);
    if (!this.#changedPairs.has(key)) this.#changedPairs.set(key, former ?? 0n);
    const [tick, address] = splitPair(key);
    const change = changeOf(former, amount);
    this.#recount('holders', tick, change);
    this.#recount('holdings', address, change);
    this.#put('holders', tick, address, amount !== 0n);
    this.#put('holdings', address, tick, amount !== 0n);
  }

  #recount(kind: CountedSet, key: string, change: number): void {
    const count = this.#isWhole ? undefined : this.find(COUNTED_BY[kind], key);
    if (count !== undefined) this.#facts.set(COUNTED_BY[kind], key, count + change);
  }

  /** Returns whether a member is in a set by the facts that are in memory. */
  #isIn(kind: SetKind, key: string, member: string): boolean {
    switch (kind) {
      case 'holders':
        return this.find('balance', pairKey(key, member)) !== 0n;
      case 'holdings':
        return this.find('balance', pairKey(member, key)) !== 0n;
      case 'owned':
        return this.find('token', member)?.owner === key;
      default:
        return this.find(DECIDED_BY[kind], `${key}|${member}`) !== null;
    }
  }

  /**
   * Adds a member to a set, or removes it: it would cost every later reader of the set. A set that is not in memory is
   * loaded when it is needed.
   */
  #put(kind: SetKind, key: string, member: string, isIn: boolean): void {
    this.#unwritten.add(kind, key, member);
    const members = this.find(kind, key) as Set<string> | undefined;
    if (members && members !== ABSENT[kind]) {
      if (isIn) members.add(member);
      else members.delete(member);
    } else if (this.#isWhole && isIn) this.#facts.set(kind, key, new Set([member]));
  }
}

/** Returns by how much a balance changes the number of holders, or less where it is unknown who held some. */
function changeOf(former: bigint | undefined, amount: bigint): number {
  if (amount === 0n) return -1;
  return former === 0n ? 1 : 0;
}
