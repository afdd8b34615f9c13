import { type Connection, rows } from '../../db/core/connection.ts';
import type { ExecutedBlock } from '../block/block.ts';
import type { TableRow } from '../state/rows.ts';
import { readLastBalance } from './lookup-undo.ts';

/** Tables whose rows of blocks have ids of their own, which no other column gives. */
const NUMBERED = ['blocks', 'validator_rewards', 'capability_slash_debits', 'capability_slash_events'] as const;

/** What balances got of blocks. */
interface Born {
  /** Ids of the rows that are new, by `pairKey`. */
  readonly ids: ReadonlyMap<string, number>;
  /** The highest id after each block. */
  readonly lastIds: readonly number[];
  /** Rows that blocks left without an amount, so that they are gone. */
  readonly ended: readonly EndedRow[];
}

/** A row of `balances` that a block took away. */
export interface EndedRow {
  readonly height: number;
  readonly pair: string;
  /** Null of one that was there before all blocks. */
  readonly id: number | null;
}

/**
 * Numbers the rows of blocks in the order of the chain. By itself a table numbers them in the order of statements, which
 * depends on how many blocks are written at once, and leaves a gap for each row that a rollback took back.
 */
export class RowIds {
  readonly #last = new Map<string, number>();
  #lastBalance = 0;

  /** Reads which ids were dealt last. */
  async restart(reader: Pick<Connection, 'query'>): Promise<void> {
    for (const table of NUMBERED) {
      const [last] = await rows<{ id: number }>(reader, `SELECT COALESCE(MAX(id), 0) AS id FROM ${table}`);
      this.#last.set(table, Number(last!.id));
    }
    this.#lastBalance = await readLastBalance(reader);
  }

  /** Returns the rows of a block with ids where their table has them. */
  number(made: readonly TableRow[]): TableRow[] {
    return made.map((row) => {
      const last = this.#last.get(row.table);
      if (last === undefined) return row;
      this.#last.set(row.table, last + 1);
      return { table: row.table, columns: { id: last + 1, ...row.columns } };
    });
  }

  /** Deals ids to balances: a balance that leaves a block with some and came to it with nothing has a new row. @param before by `pairKey`, below the blocks */
  dealBalances(executed: readonly ExecutedBlock[], before: ReadonlyMap<string, bigint>): Born {
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
