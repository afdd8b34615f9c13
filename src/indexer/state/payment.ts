/** An output of a transaction. */
export interface Output {
  readonly vout: number;
  readonly address: string;
  /** Of the chain's coin, as a count of 10^-18. */
  readonly amount: bigint;
}

/** What the transaction of an action pays. */
export interface OutputsPaid {
  readonly txid: string;
  readonly outputs: readonly Output[];
}

/** Fees that one action has paid so far. */
export interface PaidFee {
  readonly gas: number;
  readonly amount: bigint;
  readonly preference: number;
  /** Where it went; undefined where it was destroyed. */
  readonly destination: string | undefined;
  /** Of one that was paid in the chain's coin. */
  readonly native: { readonly amount: bigint; readonly round: number } | null;
}
