import type { FormatFields } from '../../coin/action/fields.ts';
import type { PriceRound } from './facts.ts';

/** One action, as it was read and before it is judged. */
export interface Action {
  readonly index: number;
  /** Null for what no transaction asked for. */
  readonly txIndex: number | null;
  readonly name: string;
  readonly format: number | null;
  readonly source: string;
  readonly fields: FormatFields;
  /** All commands of the BATCH that it is one of, as they are written; empty outside of one. */
  readonly siblings: readonly string[];
  readonly block: {
    readonly height: number;
    /** By which rules count, in epoch seconds. */
    readonly time: number;
    /** The same of the block below; 0 where there is none. */
    readonly timeBelow: number;
    /** Rounds of prices of another chain that count; undefined where the ledger has its own. */
    readonly rounds?: readonly PriceRound[];
    /** Addresses that earlier actions of the block gave their ids. */
    readonly newAddresses: ReadonlySet<string>;
  };
}
