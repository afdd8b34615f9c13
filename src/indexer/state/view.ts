import type { Offer } from '../offers/offer.ts';
import { OfferBook } from '../offers/offer-book.ts';
import { FactTable } from './fact-table.ts';
import { ABSENT, type FactKey, type Facts, type Kind, Missing, type Reader } from './facts.ts';
import { splitPair } from './keys.ts';
import type { Token } from './token.ts';

/** Facts that are sets, which grow with each change of another fact. */
type SetKind = 'holders' | 'holdings' | 'owned' | 'voters' | 'delegators';

/** Facts whose keys are a group and a member of it. */
const GROWN_BY = { voters: 'ballot', delegators: 'voteDelegate' } as const;

/** Pairs and tokens whose rows are out of date, as the rows have them: by `pairKey` and by `tickKey`. */
export interface Changed {
  readonly pairs: ReadonlyMap<string, bigint>;
  readonly tokens: ReadonlyMap<string, Token | null>;
}

/**
 * What is known of a database, in memory.
 *
 * A view that is `whole` has all that there is: what it lacks does not exist. Any other throws `Missing`.
 */
export class View implements Reader {
  #facts = new FactTable();
  /** What was in memory when it last aged, and has not been read since. */
  #old = new FactTable();
  /** All live offers of the database, once they have been loaded. */
  readonly book = new OfferBook();
  readonly #isWhole: boolean;
  /** Pairs and tokens that changed since `takeChanged`, as they were. */
  #changedPairs = new Map<string, bigint>();
  #changedTokens = new Map<string, Token | null>();
  /** What was taken last: it may not be in the database yet. */
  #taken: Changed = { pairs: new Map(), tokens: new Map() };

  constructor({ isWhole }: { readonly isWhole: boolean }) {
    this.#isWhole = isWhole;
  }

  /** Facts that were read or changed since it last aged. */
  get size(): number {
    return this.#facts.size;
  }

  /** Forgets the facts that nobody has read since it last aged. What changed before that must be in the database. */
  age(): void {
    this.#old = this.#facts;
    this.#facts = new FactTable();
  }

  get<K extends Kind>(kind: K, key: string): Facts[K] {
    const found = this.find(kind, key);
    if (found === undefined) throw new Missing([{ kind, key }]);
    return found;
  }

  /** Asks for several facts at once, so that one load brings them all. @throws {Missing} */
  want(keys: readonly FactKey[]): void {
    const missing = this.missing(keys);
    if (missing.length > 0) throw new Missing(missing);
  }

  /** A fact that is in memory; undefined for any other. */
  find<K extends Kind>(kind: K, key: string): Facts[K] | undefined {
    const found = this.#facts.get(kind, key);
    if (found !== undefined) return found;
    const older = this.#old.get(kind, key);
    if (older === undefined) return this.#isWhole ? ABSENT[kind] : undefined;
    this.#facts.set(kind, key, older);
    return older;
  }

  /** Those facts of some that are to be loaded. */
  missing(keys: readonly FactKey[]): readonly FactKey[] {
    return this.#isWhole ? [] : keys.filter(({ kind, key }) => this.find(kind, key) === undefined);
  }

  /** Remembers what a database says; undefined where it has nothing. */
  load<K extends Kind>(kind: K, key: string, value: Facts[K] | undefined): void {
    this.#facts.set(kind, key, value ?? ABSENT[kind]);
  }

  loadOffer(key: string, offer: Offer | undefined): void {
    this.load('offer', key, offer);
    if (offer) this.book.put(offer);
  }

  /** The same for sets. What is changed but not yet written counts too. */
  loadSet(kind: SetKind, key: string, members: Iterable<string>): void {
    this.#facts.set(kind, key, new Set([...members, ...this.#unwritten(kind, key)]));
  }

  /** Makes an action's changes. */
  commit(changes: FactTable): void {
    for (const [key, token] of changes.of('token')) this.#tokenChanged(key, token);
    for (const [key, amount] of changes.of('balance')) this.#balanceChanged(key, amount);
    for (const kind of changes.kinds) this.#putAll(kind, changes);
    for (const [, offer] of changes.of('offer')) if (offer) this.book.put(offer);
    for (const set of ['voters', 'delegators'] as const)
      for (const key of changes.of(GROWN_BY[set]).keys()) this.#add(set, ...splitPair(key));
  }

  /** The pairs and tokens whose rows are out of date; afterwards none is. What was taken before must be in the database. */
  takeChanged(): Changed {
    this.#taken = { pairs: this.#changedPairs, tokens: this.#changedTokens };
    this.#changedPairs = new Map();
    this.#changedTokens = new Map();
    return this.#taken;
  }

  #putAll<K extends Kind>(kind: K, changes: FactTable): void {
    for (const [key, value] of changes.of(kind)) this.#facts.set(kind, key, value);
  }

  #tokenChanged(key: string, token: Token | null): void {
    const former = this.find('token', key) ?? null;
    if (!this.#changedTokens.has(key)) this.#changedTokens.set(key, former);
    if (former && former.owner !== token?.owner) this.#remove('owned', former.owner, key);
    if (token) this.#add('owned', token.owner, key);
  }

  #balanceChanged(key: string, amount: bigint): void {
    if (!this.#changedPairs.has(key)) this.#changedPairs.set(key, this.find('balance', key) ?? 0n);
    const [tick, address] = splitPair(key);
    const change = amount === 0n ? this.#remove : this.#add;
    change.call(this, 'holders', tick, address);
    change.call(this, 'holdings', address, tick);
  }

  #unwritten(kind: SetKind, key: string): string[] {
    if (kind === 'voters' || kind === 'delegators') {
      const grown = GROWN_BY[kind];
      return [...this.#old.of(grown).keys(), ...this.#facts.of(grown).keys()].flatMap((pair) => {
        const [group, member] = splitPair(pair);
        return group === key && this.find(grown, pair) !== null ? [member] : [];
      });
    }
    if (kind === 'owned')
      return [...this.#taken.tokens.keys(), ...this.#changedTokens.keys()].filter(
        (tick) => this.find('token', tick)?.owner === key
      );
    const pairs = [...this.#taken.pairs.keys(), ...this.#changedPairs.keys()]
      .filter((pair) => this.find('balance', pair) !== 0n)
      .map(splitPair);
    return kind === 'holders'
      ? pairs.flatMap(([tick, address]) => (tick === key ? [address] : []))
      : pairs.flatMap(([tick, address]) => (address === key ? [tick] : []));
  }

  /** Who is in a set and has nothing would cost everybody who looks at it. */
  #remove(kind: SetKind, key: string, member: string): void {
    const members = this.find(kind, key) as Set<string> | undefined;
    if (members && members !== ABSENT[kind]) members.delete(member);
  }

  /** A set that is not in memory is loaded when it is needed. */
  #add(kind: SetKind, key: string, member: string): void {
    const members = this.find(kind, key) as Set<string> | undefined;
    if (members && members !== ABSENT[kind]) members.add(member);
    else if (this.#isWhole) this.#facts.set(kind, key, new Set([member]));
  }
}
