import type { DispenserRows } from './dispensers/action.ts';

/** Content of a decoder database for one block, with names in place of ids. */
export interface BlockRows {
  readonly height: number;
  readonly time: number;
  readonly hash: string;
  /** Empty for the first block of a chain. */
  readonly previousHash: string;
  readonly transactions: readonly TransactionRow[];
  readonly findings: readonly Finding[];
}

/** A transaction with a row. */
export interface TransactionRow {
  readonly hash: string;
  /** Empty when the source has no address. */
  readonly source: string;
  /** The action. Empty for a transaction that has a row only for its payments. */
  readonly data: string;
  readonly rawData: Uint8Array | null;
  /** Public key of the source, hex; null when the first input does not show it. */
  readonly pubkey: string | null;
  readonly outputs: readonly OutputRow[];
  readonly dispensers: DispenserRows;
}

/** An output with a row. */
export interface OutputRow {
  readonly vout: number;
  readonly address: string;
  /** Base units. */
  readonly amount: bigint;
  /** Set for an output that may pay a dispenser: without an action it is stored only if one is open at its address. */
  readonly isPayment?: true;
  /** Set beside isPayment for an output that its action needs. */
  readonly isNeeded?: true;
}

/** A fact about a transaction for auditors. It becomes an event of its block. */
export interface Finding {
  /**
   * - PARSE_ERROR: cannot be read
   * - UNKNOWN_ACTION: names no known action
   * - TEXT_NOT_UTF8: its text is not UTF-8
   * - SOURCE_NOT_SIGNER: reveals an action that its source did not sign
   * - SIGNATURE_NOT_WHOLE: its source signed only a part of it
   * - PAYER_UNKNOWN: pays a dispenser from a script without an address
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
