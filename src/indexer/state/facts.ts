import type { Offer } from '../offers/offer.ts';
import type { Ballot, Poll } from '../polls/poll.ts';
import { type Cooling, NO_SIGNER, type Signer } from '../staking/signer.ts';
import type { Members } from './members.ts';
import type { Token } from './token.ts';

export const LIST_OF_TICKS = 1;
export const LIST_OF_ADDRESSES = 2;

/** A list after its newest valid edit. */
export interface List {
  readonly type: number;
  readonly owner: string;
  /** Addresses, or tickers as their first ISSUE spelled them. */
  readonly members: Members;
  /** Items that edits changed since all members were kept. */
  readonly changes: number;
}

/** What an address last asked for by ADDRESS. */
export interface Preferences {
  readonly fee: number;
  readonly requiresMemo: boolean;
  readonly dispenser: number | null;
}

/** A round of prices that validators signed. */
export interface PriceRound {
  readonly round: number;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly pairs: readonly { readonly pair: string; readonly price: string }[];
}
/** The one key of the fact that lists rounds. */
export const RECENT_ROUNDS = 'recent';
/** Rounds that a ledger looks back on: more than those of a day, of which there is one in ten minutes. */
export const MOST_ROUNDS = 300;

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
  /** By ticker as it is spelled; one without a token may have an id. */
  tickId: number | null;
  /** By `tickKey`. */
  token: Token | null;
  /** Whether a ticker begins so, by the first LONGEST_KEY characters of one that has as many. */
  tickBeginning: boolean;
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
  /** Keys that anybody ever staked behind or delegated, by `ALL_KEYS`. */
  keys: readonly string[];
  /** A valid poll, by the number of its action. */
  poll: Poll | null;
  /** Numbers of the polls that are open, by `OPEN_POLLS`. */
  openPolls: readonly number[];
  /** The newest valid ballot of a voter, by `ballotKey`. */
  ballot: Ballot | null;
  /** Who has voted, by the number of the poll. */
  voters: ReadonlySet<string>;
  /** Who votes for an address with a token, by `pairKey`; null where it votes itself. */
  voteDelegate: string | null;
  /** Addresses that let another vote with a token, by `tickKey`; some may vote themselves by now. */
  delegators: ReadonlySet<string>;
  /** The least holding of a token that opens one of its files, 0 where any does; null where it has none. By `tickKey`. */
  gate: bigint | null;
  /** Whether a valid PRICE has the round, by its number. */
  pricedRound: boolean;
  /** The valid rounds of prices with the highest numbers, MOST_ROUNDS at most, the highest first; by `RECENT_ROUNDS`. */
  rounds: readonly PriceRound[];
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
export const ABSENT: Readonly<Facts> = {
  addressId: null,
  address: null,
  tick: null,
  tickId: null,
  token: null,
  tickBeginning: false,
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
  keys: [],
  poll: null,
  openPolls: [],
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
