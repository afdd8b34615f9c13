import { type Offer, OfferBook, type OfferKind } from '../offers/offer.ts';
import { type Cooling, NO_SIGNER, type Signer } from '../staking/signer.ts';
import { tickKey } from './tick-key.ts';

export { tickKey };

/** A token as its issuer left it. Amounts are counts of 10^-18. */
export interface Token {
  /** Also the id of its ticker. */
  readonly id: number;
  /** As the first ISSUE spelled it. */
  readonly tick: string;
  readonly owner: string;
  readonly supply: bigint;
  /** 0 is no cap; so it is for the other two caps. */
  readonly maxSupply: bigint;
  readonly maxMint: bigint;
  readonly mintAddressMax: bigint;
  readonly decimals: number;
  readonly description: string | null;
  readonly locks: Readonly<Record<LockName, boolean>>;
  /** Null until the issuer names one. */
  readonly callbackBlock: number | null;
  readonly callbackTick: string | null;
  readonly callbackAmount: bigint | null;
  /** The action that made the list. */
  readonly allowList: number | null;
  readonly blockList: number | null;
  /** 0 is no limit. */
  readonly mintStartBlock: number;
  readonly mintStopBlock: number;
  readonly actionIndex: number;
  readonly lastActionIndex: number;
  /** The open offer that holds the ownership. */
  readonly escrowActionIndex: number | null;
}

export const LOCKS = [
  'lock_max_supply',
  'lock_max_mint',
  'lock_description',
  'lock_sleep',
  'lock_callback',
  'lock_mint',
  'lock_mint_supply'
] as const;
export type LockName = (typeof LOCKS)[number];

export const LIST_OF_TICKS = 1;
export const LIST_OF_ADDRESSES = 2;

/** A list after its newest valid edit. */
export interface List {
  readonly type: number;
  readonly owner: string;
  /** Addresses, or tickers as their first ISSUE spelled them. */
  readonly items: readonly string[];
}

/** What an address last asked for by ADDRESS. */
export interface Preferences {
  readonly fee: number;
  readonly requiresMemo: boolean;
  readonly dispenser: number | null;
}

/** A valid action of the past. */
export interface PastAction {
  readonly name: string;
  /** The ticker that an ISSUE was about. */
  readonly tick: string | null;
}

/** Counters of a database; each holds the last number dealt. */
export type Counter = 'address' | 'ticker' | 'action' | 'transaction';

/** Everything that a block may read, by kind; the key of each is a text. */
export interface Facts {
  /** By address. */
  addressId: number | null;
  /** By id. */
  address: string | null;
  /** By id. */
  tick: string | null;
  /** By `tickKey`. */
  token: Token | null;
  /** By `pairKey`. */
  balance: bigint;
  /** Addresses that hold some of a token, by `tickKey`; a few may hold none by now. */
  holders: ReadonlySet<string>;
  /** Tokens that an address holds some of, as `tickKey`s, by address; of a few it may hold none by now. */
  holdings: ReadonlySet<string>;
  /** Tokens whose owner an address is or was, as `tickKey`s, by address. */
  owned: ReadonlySet<string>;
  /** The action that made the list, by the index of that action or of an edit. */
  listRoot: number | null;
  /** By the index of the action that made it. */
  list: List | null;
  /** Block in which an address or token wakes, -1 for never; by `sleeperKey`. */
  sleep: number | null;
  /** By address. */
  preferences: Preferences | null;
  /** What an address has minted of a token, by `pairKey`. */
  minted: bigint;
  /** A valid action, by its index. */
  past: PastAction | null;
  /** By the index of the action that made it. */
  offer: Offer | null;
  /** Whether an address ever opened a dispenser at another; by `source|address`. */
  served: boolean;
  /** What COINPAYs have used of an output, by `txid|vout`; of transactions of the block in work only. */
  spent: bigint;
  /** By a key's 64 hex digits in small letters. */
  signer: Signer;
  /** Keys that an address has ever staked behind, by address. */
  keysOf: readonly string[];
  /** What an address has earned and not yet claimed, by address. */
  unclaimed: bigint;
  /** What comes back to stakers in a block, by its height. */
  cooling: readonly Cooling[];
  counter: number;
}
export type Kind = keyof Facts;

/** One fact that is asked for. */
export interface FactKey {
  readonly kind: Kind;
  readonly key: string;
}

/** What facts are where nothing is stored. */
const ABSENT: Readonly<Facts> = {
  addressId: null,
  address: null,
  tick: null,
  token: null,
  balance: 0n,
  holders: new Set(),
  holdings: new Set(),
  owned: new Set(),
  listRoot: null,
  list: null,
  sleep: null,
  preferences: null,
  minted: 0n,
  past: null,
  offer: null,
  served: false,
  spent: 0n,
  signer: NO_SIGNER,
  keysOf: [],
  unclaimed: 0n,
  cooling: [],
  counter: 0
};

export function pairKey(tick: string, address: string): string {
  return `${tickKey(tick)}|${address}`;
}

/** The address or ticker that sleeps. */
export function sleeperKey(type: 'address' | 'tick', name: string): string {
  return type === 'address' ? `address|${name}` : `tick|${tickKey(name)}`;
}

/** Facts that are in no memory: load them into the view and try again. Thrown so often that it takes no stack. */
export class Missing {
  readonly keys: readonly FactKey[];

  constructor(keys: readonly FactKey[]) {
    this.keys = keys;
  }
}

/** Where an action reads. */
export interface Reader {
  /** @throws {Missing} */
  get<K extends Kind>(kind: K, key: string): Facts[K];
}

/** Facts by kind and key. */
export class FactTable {
  readonly #kinds = new Map<Kind, Map<string, unknown>>();

  get<K extends Kind>(kind: K, key: string): Facts[K] | undefined {
    return this.#kinds.get(kind)?.get(key) as Facts[K] | undefined;
  }

  set<K extends Kind>(kind: K, key: string, value: Facts[K]): void {
    const facts = this.#kinds.get(kind);
    if (facts) facts.set(key, value);
    else this.#kinds.set(kind, new Map([[key, value]]));
  }

  of<K extends Kind>(kind: K): ReadonlyMap<string, Facts[K]> {
    return (this.#kinds.get(kind) ?? NOTHING) as ReadonlyMap<string, Facts[K]>;
  }

  get kinds(): Iterable<Kind> {
    return this.#kinds.keys();
  }

  get size(): number {
    return [...this.#kinds.values()].reduce((sum, facts) => sum + facts.size, 0);
  }
}
const NOTHING: ReadonlyMap<string, unknown> = new Map();

/**
 * What is known of a database, in memory.
 *
 * A view that is `whole` has all that there is: what it lacks does not exist. Any other throws `Missing`.
 */
export class View implements Reader {
  readonly #facts = new FactTable();
  readonly #book = new OfferBook();
  readonly #isWhole: boolean;
  /** Pairs and tokens that changed since `takeChanged`. */
  #changedPairs = new Set<string>();
  #changedTokens = new Set<string>();

  constructor({ isWhole }: { readonly isWhole: boolean }) {
    this.#isWhole = isWhole;
  }

  /** Indexes of the live offers of a kind. All live offers of the database must have been loaded. */
  offersOf(kind: OfferKind): Iterable<number> {
    return this.#book.ofKind(kind);
  }

  /** The same of a market or counter. */
  offersAt(place: string): Iterable<number> {
    return this.#book.at(place);
  }

  /** Facts in memory. */
  get size(): number {
    return this.#facts.size;
  }

  get<K extends Kind>(kind: K, key: string): Facts[K] {
    const found = this.#facts.get(kind, key);
    if (found !== undefined) return found;
    if (this.#isWhole) return ABSENT[kind];
    throw new Missing([{ kind, key }]);
  }

  /** Asks for several facts at once, so that one load brings them all. @throws {Missing} */
  want(keys: readonly FactKey[]): void {
    const missing = this.missing(keys);
    if (missing.length > 0) throw new Missing(missing);
  }

  /** Those facts of some that are to be loaded. */
  missing(keys: readonly FactKey[]): readonly FactKey[] {
    return this.#isWhole ? [] : keys.filter(({ kind, key }) => this.#facts.get(kind, key) === undefined);
  }

  /** Remembers what a database says; undefined where it has nothing. */
  load<K extends Kind>(kind: K, key: string, value: Facts[K] | undefined): void {
    this.#facts.set(kind, key, value ?? ABSENT[kind]);
  }

  loadOffer(key: string, offer: Offer | undefined): void {
    this.load('offer', key, offer);
    if (offer) this.#book.put(offer);
  }

  /** The same for sets. What is changed but not yet written counts too. */
  loadSet(kind: 'holders' | 'holdings' | 'owned', key: string, members: Iterable<string>): void {
    this.#facts.set(kind, key, new Set([...members, ...this.#unwritten(kind, key)]));
  }

  /** Makes an action's changes. */
  commit(changes: FactTable): void {
    for (const [key, token] of changes.of('token')) this.#tokenChanged(key, token);
    for (const kind of changes.kinds) this.#putAll(kind, changes);
    for (const [key, amount] of changes.of('balance')) this.#balanceChanged(key, amount);
    for (const [, offer] of changes.of('offer')) if (offer) this.#book.put(offer);
  }

  /** The pairs and tokens whose rows are out of date, as keys; afterwards none is. */
  takeChanged(): { readonly pairs: ReadonlySet<string>; readonly tokens: ReadonlySet<string> } {
    const taken = { pairs: this.#changedPairs, tokens: this.#changedTokens };
    this.#changedPairs = new Set();
    this.#changedTokens = new Set();
    return taken;
  }

  #putAll<K extends Kind>(kind: K, changes: FactTable): void {
    for (const [key, value] of changes.of(kind)) this.#facts.set(kind, key, value);
  }

  #tokenChanged(key: string, token: Token | null): void {
    this.#changedTokens.add(key);
    if (token) this.#add('owned', token.owner, key);
  }

  #balanceChanged(key: string, amount: bigint): void {
    this.#changedPairs.add(key);
    if (amount === 0n) return;
    const [tick, address] = splitPair(key);
    this.#add('holders', tick, address);
    this.#add('holdings', address, tick);
  }

  #unwritten(kind: 'holders' | 'holdings' | 'owned', key: string): string[] {
    if (kind === 'owned')
      return [...this.#changedTokens].filter((tick) => this.#facts.get('token', tick)?.owner === key);
    const pairs = [...this.#changedPairs].map(splitPair);
    return kind === 'holders'
      ? pairs.flatMap(([tick, address]) => (tick === key ? [address] : []))
      : pairs.flatMap(([tick, address]) => (address === key ? [tick] : []));
  }

  /** A set that is not in memory is loaded when it is needed. */
  #add(kind: 'holders' | 'holdings' | 'owned', key: string, member: string): void {
    const members = this.#facts.get(kind, key) as Set<string> | undefined;
    if (members) members.add(member);
    else if (this.#isWhole) this.#facts.set(kind, key, new Set([member]));
  }
}

/** The two halves of a `pairKey`. A ticker holds no `|`. */
export function splitPair(key: string): [tick: string, address: string] {
  const at = key.indexOf('|');
  return [key.slice(0, at), key.slice(at + 1)];
}
