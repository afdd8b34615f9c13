/** Token as its issuer left it. Amounts are counts of 10^-18. */
export interface Token {
  /** Id of the token and of its ticker. */
  readonly id: number;
  /** Ticker as the first ISSUE spelled it. */
  readonly tick: string;
  readonly owner: string;
  readonly supply: bigint;
  /** Cap; 0 is none. The same holds for the other two caps. */
  readonly maxSupply: bigint;
  readonly maxMint: bigint;
  readonly mintAddressMax: bigint;
  readonly decimals: number;
  readonly description: string | null;
  readonly locks: Readonly<Record<LockName, boolean>>;
  /** Block from which on a CALLBACK is allowed; null until the issuer names one. */
  readonly callbackBlock: number | null;
  readonly callbackTick: string | null;
  readonly callbackAmount: bigint | null;
  /** Index of the action that made the list. */
  readonly allowList: number | null;
  readonly blockList: number | null;
  /** First block of mints; 0 is no limit. */
  readonly mintStartBlock: number;
  readonly mintStopBlock: number;
  readonly actionIndex: number;
  readonly lastActionIndex: number;
  /** Open offer that holds the ownership. */
  readonly escrowActionIndex: number | null;
}

/** Columns that lock a setting of a token for ever. */
export const LOCKS = [
  'lock_max_supply',
  'lock_max_mint',
  'lock_description',
  'lock_sleep',
  'lock_callback',
  'lock_mint',
  'lock_mint_supply'
] as const;
/** Name of a lock. */
export type LockName = (typeof LOCKS)[number];
