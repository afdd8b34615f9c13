import { Members } from './members.ts';
import type { Offer } from './offer.ts';
import type { Ballot, Poll } from './poll.ts';
import { type Cooling, NO_SIGNER, type Signer } from './signer.ts';
import type { Token } from './token.ts';

/** Type of a list of tickers. */
export const LIST_OF_TICKS = 1;
/** Type of a list of addresses. */
export const LIST_OF_ADDRESSES = 2;

/** List after its newest valid edit. */
export interface List {
  readonly type: number;
  readonly owner: string;
  /** Addresses, or tickers as their first ISSUE spelled them. */
  readonly members: Members;
  /** Number of items that edits added or took away since all members were kept. */
  readonly changes: number;
}

/** Numbers of a list that an edit needs beside the items that it names. */
export interface ListCount {
  /** Number of members. */
  readonly size: number;
  /** @see List.changes */
  readonly changes: number;
}

/** Items up to which a list is short. */
export const SHORT_LIST = 2_000;

/** Head of a list: its type and owner, and whether it is long. No member is read for it. */
export interface ListHead {
  readonly type: number;
  readonly owner: string;
  /** Whether more than SHORT_LIST items were read to find its members. It may be out of date. */
  readonly isLong: boolean;
  /** Number of members, which may be out of date; undefined where it is unknown. */
  readonly size?: number;
}

/** Returns the head of a list. */
export function headOf({ type, owner, members }: List): ListHead {
  return { type, owner, isLong: members.size > SHORT_LIST, size: members.size };
}

/** Preferences that an address last set by ADDRESS. */
export interface Preferences {
  readonly fee: number;
  readonly requiresMemo: boolean;
  readonly dispenser: number | null;
}

/** Round of prices that validators signed. */
export interface PriceRound {
  readonly round: number;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly pairs: readonly { readonly pair: string; readonly price: string }[];
}
/** The only key of the fact that lists rounds. */
export const RECENT_ROUNDS = 'recent';
/** Most rounds that a ledger looks back on. That is more than a day has at one round in ten minutes. */
export const MOST_ROUNDS = 300;

/** Valid action of the past. */
export interface PastAction {
  readonly name: string;
  /** Ticker of an ISSUE; null for other actions. */
  readonly tick: string | null;
}

/** Counters of a database; each holds the last number that was assigned. */
export type Counter = 'address' | 'ticker' | 'action' | 'transaction';

/** Everything that a block may read, by kind. The key of each fact is a text. */
export interface Facts {
  /** Id of an address, by address. */
  addressId: number | null;
  /** Address, by id. */
  address: string | null;
  /** Ticker, by id. */
  tick: string | null;
  /** Id of a ticker in its exact spelling. A ticker without a token may have one. */
  tickId: number | null;
  /** Token, by `tickKey`. */
  token: Token | null;
  /** Whether a known ticker has this beginning, by the first LONGEST_KEY characters of a ticker that has as many. */
  tickBeginning: boolean;
  /** Balance, by `pairKey`. */
  balance: bigint;
  /** Addresses that hold some of a token, by `tickKey`; a few may hold none by now. */
  holders: ReadonlySet<string>;
  /**
   * Number of addresses that hold some of a token, by `tickKey`, or a lower one: that of so many as are worth counting.
   * Read it by `View.fewest`, and the two counts below as well.
   */
  holderCount: number;
  /** Tokens that an address holds some of, as `tickKey`s, by address; it may hold none of a few by now. */
  holdings: ReadonlySet<string>;
  /** Tokens whose owner an address is or was, as `tickKey`s, by address. */
  owned: ReadonlySet<string>;
  /** Number of tokens that an address holds some of, or a lower one, by address. */
  holdingCount: number;
  /** Number of tokens that an address owns, or a lower one, by address. */
  ownedCount: number;
  /** Action that made a list, by the index of that action or of an edit. */
  listRoot: number | null;
  /** List, by the index of the action that made it. */
  list: List | null;
  /** Head of a list, likewise. Read it by `ActionState.listHead`. */
  listHead: ListHead | null;
  /**
   * Whether a list has an item, by `memberKey`. It counts while the list is not in memory: read it by
   * `ActionState.isMember`.
   */
  member: boolean;
  /** Numbers of a list, by the index of the action that made it. Read them by `ActionState.listCount`, likewise. */
  listCount: ListCount | null;
  /** Block in which an address or token wakes, -1 for never; by `sleeperKey`. */
  sleep: number | null;
  /** Preferences, by address. */
  preferences: Preferences | null;
  /** Amount that an address has minted of a token, by `pairKey`. */
  minted: bigint;
  /** Valid action, by its index. */
  past: PastAction | null;
  /** Offer, by the index of the action that made it. */
  offer: Offer | null;
  /** Whether all live offers of an address are in the book, by address; of no meaning where those of all are. */
  liveOffers: boolean;
  /** Whether all matches of an order that wait for a payment are in the book, by the index of the order; likewise. */
  awaitedMatches: boolean;
  /** Whether an address ever opened a dispenser at another address; by `source|address`. */
  served: boolean;
  /** Source of the first valid dispenser at an address, by address; null where none ever was. */
  firstSeller: string | null;
  /** Amount of an output that COINPAYs have used, by `txid|vout`. Only outputs of the block in work have one. */
  spent: bigint;
  /** Signing key, by its 64 lower-case hex digits. */
  signer: Signer;
  /** Keys that an address has ever staked behind, by address. */
  keysOf: Members;
  /** Keys that anybody ever staked behind or delegated, by `ALL_KEYS`. */
  keys: Members;
  /** Valid poll, by the index of its action. */
  poll: Poll | null;
  /** Newest valid ballot of a voter, by `ballotKey`. */
  ballot: Ballot | null;
  /** Addresses that voted in a poll, by the index of the poll. */
  voters: ReadonlySet<string>;
  /** Address that votes for an address with a token, by `pairKey`; null where it votes itself. */
  voteDelegate: string | null;
  /** Addresses that let another vote with a token, by `tickKey`; some may vote themselves by now. */
  delegators: ReadonlySet<string>;
  /**
   * Least holding of a token that opens one of its files, by `tickKey`; 0 where any holding does, null where it has no
   * files.
   */
  gate: bigint | null;
  /** Whether a valid PRICE has a round, by the number of the round. */
  pricedRound: boolean;
  /** The valid rounds of prices with the highest numbers, MOST_ROUNDS at most, the highest first; by `RECENT_ROUNDS`. */
  rounds: readonly PriceRound[];
  /** Rewards that an address has earned and not yet claimed, by address. */
  unclaimed: bigint;
  /** Stakes that a block returns to stakers, by its height. */
  cooling: readonly Cooling[];
  counter: number;
}
/** Kind of a fact. */
export type Kind = keyof Facts;

/** Key of one fact. */
export interface FactKey {
  readonly kind: Kind;
  readonly key: string;
}

/** Values of facts that are not stored. */
export const ABSENT: Readonly<Facts> = {
  addressId: null,
  address: null,
  tick: null,
  tickId: null,
  token: null,
  tickBeginning: false,
  balance: 0n,
  holders: new Set(),
  holderCount: Number.POSITIVE_INFINITY, // whoever guesses reads no holders
  holdings: new Set(),
  owned: new Set(),
  holdingCount: Number.POSITIVE_INFINITY,
  ownedCount: Number.POSITIVE_INFINITY,
  listRoot: null,
  list: null,
  listHead: null,
  member: false,
  listCount: null,
  sleep: null,
  preferences: null,
  minted: 0n,
  past: null,
  offer: null,
  liveOffers: false,
  awaitedMatches: false,
  served: false,
  firstSeller: null,
  spent: 0n,
  signer: NO_SIGNER,
  keysOf: new Members(),
  keys: new Members(),
  poll: null,
  ballot: null,
  voters: new Set(),
  voteDelegate: null,
  delegators: new Set(),
  gate: null,
  pricedRound: false,
  rounds: [],
  unclaimed: 0n,
  cooling: [],
  counter: 0
};

/**
 * Thrown where facts are not in memory: load them into the view and try again. It has no stack, because it is thrown so
 * often.
 */
export class Missing {
  readonly keys: readonly FactKey[];

  constructor(keys: readonly FactKey[]) {
    this.keys = keys;
  }
}

/** Read access to ledger facts during an action. */
export interface Reader {
  /** @throws {Missing} */
  get<K extends Kind>(kind: K, key: string): Facts[K];
}
