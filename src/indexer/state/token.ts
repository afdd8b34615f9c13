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
