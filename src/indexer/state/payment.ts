/** Output of a transaction. */
export interface Output {
  readonly vout: number;
  readonly address: string;
  /** Amount of the chain's coin, as a count of 10^-18. */
  readonly amount: bigint;
}

/** Outputs of the transaction of an action. */
export interface OutputsPaid {
  readonly txid: string;
  readonly outputs: readonly Output[];
}

/** Fees that one action has paid so far. */
export interface PaidFee {
  readonly gas: number;
  readonly amount: bigint;
  readonly preference: number;
  /** Address that was paid; undefined where the fee was destroyed. */
  readonly destination: string | undefined;
  /** Amount and price round of a fee in the chain's coin; null for a fee in the gas token. */
  readonly native: { readonly amount: bigint; readonly round: number } | null;
}
