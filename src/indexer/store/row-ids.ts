import { rows, type Statements } from '../../db/connection.ts';
import type { ExecutedBlock } from '../block/block.ts';
import type { TableRow } from '../state/rows.ts';
import { readLastBalance } from './lookup-undo.ts';

/** Tables whose rows have ids of their own that follow from no other column. */
const NUMBERED = ['blocks', 'validator_rewards', 'capability_slash_debits', 'capability_slash_events'] as const;

/** Ids that blocks gave to balances. */
interface Born {
  /** Ids of the new rows, by `pairKey`. */
  readonly ids: ReadonlyMap<string, number>;
  /** Highest id after each block. */
  readonly lastIds: readonly number[];
  /** Rows that blocks left without an amount, and so deleted. */
  readonly ended: readonly EndedRow[];
}

/** Row of `balances` that a block deleted. */
interface EndedRow {
  readonly height: number;
  readonly pair: string;
  /** Id of the row; null if it is older than all the blocks. */
  readonly id: number | null;
}

/**
 * Numbers the rows of blocks in the order of the chain. By itself a table numbers them in the order of statements, which
 * depends on how many blocks are written at once, and leaves a gap for each row that a rollback took back.
 */
export class RowIds {
  readonly #last = new Map<string, number>();
  #lastBalance = 0;

  /** Reads the highest id of each table. */
  async restart(reader: Statements): Promise<void> {
    for (const table of NUMBERED) {
      const [last] = await rows<{ id: number }>(reader, `SELECT COALESCE(MAX(id), 0) AS id FROM ${table}`);
      this.#last.set(table, Number(last!.id));
    }
    this.#lastBalance = await readLastBalance(reader);
  }

  /** Returns the rows of a block, with ids where their table has them. */
  number(made: readonly TableRow[]): TableRow[] {
    return made.map((row) => {
      const last = this.#last.get(row.table);
      if (last === undefined) return row;
      this.#last.set(row.table, last + 1);
      return { table: row.table, columns: { id: last + 1, ...row.columns } };
    });
  }

  /**
   * Gives ids to balances. A balance that is 0 before a block and not 0 after it has a new row. @param before balances
   * below the blocks, by `pairKey`
   */
  assignBalanceIds(executed: readonly ExecutedBlock[], before: ReadonlyMap<string, bigint>): Born {
    const ids = new Map<string, number>();
    const left = new Map<string, bigint>();
    const ended: EndedRow[] = [];
    const lastIds = executed.map(({ block: { height }, balances }) => {
      for (const [pair, amount] of balances) {
        const had = left.get(pair) ?? before.get(pair) ?? 0n;
        if (amount === 0n && had !== 0n) ended.push({ height, pair, id: ids.get(pair) ?? null });
        if (amount === 0n) ids.delete(pair);
        else if (had === 0n) ids.set(pair, ++this.#lastBalance);
        left.set(pair, amount);
      }
      return this.#lastBalance;
    });
    return { ids, lastIds, ended };
  }
}
