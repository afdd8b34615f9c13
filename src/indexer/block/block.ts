import type { ListCount, PriceRound } from '../state/facts.ts';
import type { TickSums } from '../state/movements.ts';
import type { Output } from '../state/payment.ts';
import type { Refusal, RowChange, TableRow } from '../state/rows.ts';

/** Transaction with an action, as a decoder stored it. */
export interface ChainTransaction {
  readonly hash: string;
  /** Address that pays and acts. It is empty where no address stands for the coins. */
  readonly source: string;
  readonly fee: number | null;
  /** Text of its action; empty for a payment without an action. */
  readonly data: string;
  /** Outputs that an action may be about, or that pay dispensers. */
  readonly outputs?: readonly Output[];
}

/** Rounds of prices that are in the ledger of another chain. */
export interface SettledPrices {
  /** Newest block of that chain whose rounds count; null before its first. */
  readonly at: { readonly height: number; readonly hash: string } | null;
  /** Rounds, the highest number first. @see readRounds */
  readonly rounds: readonly PriceRound[];
}

/** Block as a decoder stored it. */
export interface ChainBlock {
  readonly height: number;
  /** Epoch seconds. */
  readonly time: number;
  readonly hash: string;
  readonly transactions: readonly ChainTransaction[];
  /** Prices of another chain; undefined where the ledger has its own. */
  readonly prices?: SettledPrices;
}

/** Hash chains of a ledger at one block. */
export interface BlockHashes {
  readonly ledger: string;
  readonly actions: string;
  readonly contract: string;
  /**
   * State hash. It is null in a ledger that an earlier release began, because the chain of state hashes starts with the
   * first block.
   */
  readonly state: string | null;
}

/** Rest of an order or swap that its matches left. */
export interface TradeRest {
  /** Action that made the trade. */
  readonly trade: number;
  /** Action that changed what is left. */
  readonly action: number;
  readonly giveLeft: bigint;
  readonly getLeft: bigint;
}

/** Numbers of a list as a block left them. */
interface CountedList extends ListCount {
  /** Action that made the list. */
  readonly root: number;
  /** Newest action of the block that made or edited it. */
  readonly action: number;
}

/** Block after its actions. */
export interface ExecutedBlock {
  readonly block: ChainBlock;
  readonly hashes: BlockHashes;
  /** Root over its movements and actions. */
  readonly root: string;
  /** Rows in the order in which they were made, without the row of `blocks`. */
  readonly rows: readonly TableRow[];
  /** Changes of rows of this block and of earlier ones, to be made after the rows are written. */
  readonly rowChanges: readonly RowChange[];
  /** Refusals that no row records. */
  readonly refusals: readonly Refusal[];
  /** Balances that its actions changed, as the block left them, by `pairKey`. */
  readonly balances: readonly (readonly [pair: string, amount: bigint])[];
  /** Sums of the movements of its actions, by `tickKey`. */
  readonly sums: ReadonlyMap<string, TickSums>;
  /** Edits that changed members of lists and keep none of them, each with the action that made the list. */
  readonly editedLists: readonly (readonly [edit: number, root: number])[];
  /** Orders and swaps that its actions left less or more of, as the block left them. */
  readonly rests: readonly TradeRest[];
  /** Lists that its actions made or edited. */
  readonly listCounts: readonly CountedList[];
}
