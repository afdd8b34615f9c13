import type { PriceRound } from '../state/facts.ts';
import type { TickSums } from '../state/movements.ts';
import type { Output } from '../state/payment.ts';
import type { Refusal, RowChange, TableRow } from '../state/rows.ts';

/** A transaction with an action, as a decoder stored it. */
export interface ChainTransaction {
  readonly hash: string;
  /** Address that pays and acts; empty: none stands for its coins. */
  readonly source: string;
  readonly fee: number | null;
  /** Its action text; empty for a payment alone. */
  readonly data: string;
  /** Outputs that an action may be about, or that pay dispensers. */
  readonly outputs?: readonly Output[];
}

/** Rounds of prices that stand in the ledger of another chain. */
export interface SettledPrices {
  /** The newest block of that chain whose rounds count; null before its first. */
  readonly at: { readonly height: number; readonly hash: string } | null;
  /** The one with the highest number first. @see readRounds */
  readonly rounds: readonly PriceRound[];
}

export interface ChainBlock {
  readonly height: number;
  /** Epoch seconds. */
  readonly time: number;
  readonly hash: string;
  readonly transactions: readonly ChainTransaction[];
  /** Undefined where the ledger has its own. */
  readonly prices?: SettledPrices;
}

/** The hash chains of a ledger at one block. */
export interface BlockHashes {
  readonly ledger: string;
  readonly actions: string;
  readonly contract: string;
  /** Null in a ledger that an earlier release began: it is a chain from the first block on. */
  readonly state: string | null;
}

/** A block after its actions. */
export interface ExecutedBlock {
  readonly block: ChainBlock;
  readonly hashes: BlockHashes;
  /** Root over its movements and actions. */
  readonly root: string;
  /** In the order in which they came to be; the row of `blocks` is not among them. */
  readonly rows: readonly TableRow[];
  /** Of rows of this block and of earlier ones, to be made after the rows are written. */
  readonly rowChanges: readonly RowChange[];
  /** Refusals of which no row tells. */
  readonly refusals: readonly Refusal[];
  /** Balances that its actions changed, as the block left them, by `pairKey`. */
  readonly balances: readonly (readonly [pair: string, amount: bigint])[];
  /** What its actions moved. */
  readonly sums: ReadonlyMap<string, TickSums>;
}
