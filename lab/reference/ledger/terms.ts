export interface ReferenceTransaction {
  readonly hash: string;
  readonly source: string;
  readonly data: string;
  readonly outputs?: readonly { readonly vout: number; readonly address: string; readonly amount: bigint }[];
}

export interface ReferenceInput {
  readonly height: number;
  readonly time: number;
  readonly transactions: readonly ReferenceTransaction[];
}

export interface ReferenceOutput {
  /** `action table status`, in no particular order. */
  readonly verdicts: readonly string[];
  /** `credits|debits|escrows action address tick amount` and `fees action gas amount coins round`, in no particular order. */
  readonly movements: readonly string[];
  readonly ledger: string;
  readonly actions: string;
}

/** Payment of an action for gas. */
export interface Fee {
  gas: number;
  amount: bigint;
  /** In the chain's coin; null for what was paid in the gas token. */
  coins: bigint | null;
  round: number | null;
}

export interface Lists {
  allow: number;
  block: number;
}

export interface Token extends Lists {
  tick: string;
  /** The ticker in small letters: it is looked up in any case. */
  key: string;
  owner: string;
  decimals: number;
  supply: bigint;
  maxSupply: bigint;
  maxMint: bigint;
  addressMax: bigint;
  description: string;
  locks: Record<string, boolean>;
  callbackBlock: number | null;
  callbackTick: Token | null;
  callbackAmount: bigint | null;
  mintStart: number;
  mintStop: number;
  /** Whether an open offer holds the ownership. */
  isHeld: boolean;
}

export interface Side {
  token: Token | null;
  amount: bigint;
  isOwnership: boolean;
}

/** A side as it is written. */
export interface SideFields {
  coin: string;
  tick: string;
  token: Token | null;
  text: string;
  /** Null for what is no amount. */
  amount: bigint | null;
  mark: string;
  isOwnership: boolean;
}

export interface Trade extends Lists {
  kind: 'ORDER' | 'SWAP';
  index: number;
  source: string;
  status: string;
  give: Side;
  get: Side;
  giveLeft: bigint;
  getLeft: bigint;
  getAddress: string;
  expiration: number;
  /** Gets what nobody paid for. */
  restAddress: string;
}

export interface Dispenser {
  index: number;
  source: string;
  status: string;
  give: Side;
  getToken: Token | null;
  getAmount: bigint;
  /** Price of a fill in a currency. */
  fiat: { code: string; amount: bigint } | null;
  getAddress: string;
  left: bigint;
  refills: number;
  served: number;
  refused: number;
  expiration: number;
  lists: (Lists & { from: number })[];
  closesAt: number | null;
  restAddress: string;
}

export interface Owed {
  index: number;
  status: string;
  payee: string;
  coins: bigint;
  seller: Trade;
  buyer: Trade;
  sold: Side;
  expiration: number;
}

export interface Stake {
  key: string;
  source: string;
  amount: bigint;
  from: number;
  to: number | null;
}

export interface Poll {
  index: number;
  source: string;
  token: Token;
  end: number;
  options: number;
  most: number;
  isSplit: boolean;
  weighing: string;
  quorum: bigint;
  minVoters: number;
  minBalance: bigint;
  threshold: bigint | null;
  deposit: bigint;
  isOpen: boolean;
  ballots: Map<string, { option: number; share: number }[]>;
  /** Block of the newest ballot. */
  block: number;
}

export interface Doing {
  index: number;
  source: string;
  format: number;
  fields: string[];
  rest: string;
  txIndex: number | null;
  transaction: ReferenceTransaction | null;
  /** The commands of its BATCH. */
  siblings?: readonly string[];
  fee?: Fee;
  /** Work that follows directly. */
  next: (() => void)[];
}

export type Movement = 'debits' | 'credits' | 'escrows';

/** The status of what is wrong, or false. */
export type Test = () => string | false;
