import type { DispenserRows } from './dispenser-action.ts';

/** What a decoder database holds of one block, names still spelled out. */
export interface BlockRows {
  readonly height: number;
  readonly time: number;
  readonly hash: string;
  /** Empty for the first block of a chain. */
  readonly previousHash: string;
  readonly transactions: readonly TransactionRow[];
  readonly findings: readonly Finding[];
}

export interface TransactionRow {
  readonly hash: string;
  /** Empty: nobody's that an address stands for. */
  readonly source: string;
  /** Empty: it says nothing, and has a row only for what it pays. */
  readonly data: string;
  readonly rawData: Uint8Array | null;
  /** Hex, of the source; null when the first input does not show it. */
  readonly pubkey: string | null;
  readonly outputs: readonly OutputRow[];
  readonly dispensers: DispenserRows;
}

export interface OutputRow {
  readonly vout: number;
  readonly address: string;
  /** Base units. */
  readonly amount: bigint;
  /** It counts only where a dispenser is open at its address. */
  readonly isPayment?: true;
}

/** What an auditor should know of a transaction: an event with its block. */
export interface Finding {
  /**
   * Could not be read; names no known action; holds text that is no UTF-8; reveals an action that its source did not sign; says one
   * that its source signed in part; pays a dispenser for nobody.
   */
  readonly code:
    | 'PARSE_ERROR'
    | 'UNKNOWN_ACTION'
    | 'TEXT_NOT_UTF8'
    | 'SOURCE_NOT_SIGNER'
    | 'SIGNATURE_NOT_WHOLE'
    | 'PAYER_UNKNOWN';
  readonly hash: string;
  readonly reason: string;
}
