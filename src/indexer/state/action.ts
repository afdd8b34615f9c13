import type { FormatFields } from '../../coin/action/fields.ts';
import type { PriceRound } from './facts.ts';

/** Action after parsing and before judgement. */
export interface Action {
  readonly index: number;
  /** Index of its transaction; null for an action that no transaction asked for. */
  readonly txIndex: number | null;
  readonly name: string;
  readonly format: number | null;
  readonly source: string;
  readonly fields: FormatFields;
  /** Texts of all commands of the BATCH that contains it; empty outside of one. */
  readonly siblings: readonly string[];
  readonly block: {
    readonly height: number;
    /** Median time by which rules count, in epoch seconds. */
    readonly time: number;
    /** Median time of the block below; 0 where there is none. */
    readonly timeBelow: number;
    /** Rounds of prices of another chain that count; undefined where the ledger has its own. */
    readonly rounds?: readonly PriceRound[];
    /** Addresses that got their ids from earlier actions of the block. */
    readonly newAddresses: ReadonlySet<string>;
  };
}
