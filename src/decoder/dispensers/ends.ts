import type { Query } from '../lookup.ts';
import { DispenserHolds } from './holds.ts';
import { LEAST_PRICE } from './tills.ts';

/** Rows per statement: anybody may let millions of dispensers end in one block. */
const PART = 50_000;

/** A place in the index of what is due. */
interface Place {
  /** Unix seconds. */
  readonly due: number;
  readonly txIndex: number;
}

/** Ends dispensers by time, and opens them again. */
export class DispenserEnds {
  readonly #query: Query;
  readonly #holds: DispenserHolds;

  constructor(query: Query) {
    this.#query = query;
    this.#holds = new DispenserHolds(query);
  }

  /** Drops cached state: the next call reads the tables. */
  forget(): void {
    this.#holds.forget();
  }

  /**
   * Ends those of which a ledger closed the last at the end of the block below.
   *
   * @param over median in Unix seconds
   */
  async endBefore(height: number, over: number): Promise<void> {
    if (over === Number.NEGATIVE_INFINITY) return;
    await this.#holds.release(over);
    const isDue = '(w.due > ? OR (w.due = ? AND w.tx_index > ?)) AND (w.due < ? OR (w.due = ? AND w.tx_index <= ?))';
    for (let from: Place | undefined = { due: -1, txIndex: -1 }; from; ) {
      const next: Place | undefined = await this.#placeAfter(from, over);
      const to = next ?? { due: over, txIndex: -1 };
      const range = [from, to].flatMap(({ due, txIndex }) => [due, due, txIndex]);
      await this.#holds.hold(isDue, range, over);
      await this.#query(
        `UPDATE dispenser_tills w STRAIGHT_JOIN dispensers d USING (tx_index, address_id)
         SET d.expired_block_index = ?, w.ended = ?, w.due = NULL WHERE ${isDue}`,
        [height, height, ...range]
      );
      from = next;
    }
  }

  /** Returns the first time at which something ends; Infinity when nothing does. */
  async nextEnd(): Promise<number> {
    const [row] = await this.#query<{ due: number | null }>('SELECT MIN(due) AS due FROM dispenser_tills');
    return Math.min(Number(row?.due ?? Number.POSITIVE_INFINITY), await this.#holds.nextEnd());
  }

  /** Opens those again that a block paid, and that ended before it. Their payments must still be there. */
  async undo(height: number): Promise<void> {
    await this.#query(
      `UPDATE dispenser_payments p STRAIGHT_JOIN dispenser_tills w USING (tx_index, address_id)
       JOIN dispensers d USING (tx_index, address_id) ${OPENS_AGAIN}, w.least = ${LEAST_PRICE}
       WHERE p.block_index = ?`,
      [height]
    );
    for (let from: number | undefined = -1; from !== undefined; ) {
      const [next]: { txIndex: number }[] = await this.#query<{ txIndex: number }>(
        `SELECT tx_index AS txIndex FROM dispenser_tills WHERE ended = ? AND tx_index > ? ORDER BY tx_index
         LIMIT ${PART - 1}, 1`,
        [height, from]
      );
      await this.#query(
        `UPDATE dispenser_tills w STRAIGHT_JOIN dispensers d USING (tx_index, address_id) ${OPENS_AGAIN}
         WHERE w.ended = ? AND w.tx_index > ? AND w.tx_index <= ?`,
        [height, from, next?.txIndex ?? Number.MAX_SAFE_INTEGER]
      );
      from = next?.txIndex;
    }
  }

  /** Returns the last row of the next part of what is due; undefined when all that follows is one part. */
  async #placeAfter({ due, txIndex }: Place, over: number): Promise<Place | undefined> {
    const [found] = await this.#query<Place>(
      `SELECT due, tx_index AS txIndex FROM dispenser_tills w
       WHERE (due > ? OR (due = ? AND tx_index > ?)) AND due < ? ORDER BY due, tx_index LIMIT ${PART - 1}, 1`,
      [due, due, txIndex, over]
    );
    return found;
  }
}

/** Its due time is a bound that holds whatever was undone. */
const OPENS_AGAIN = 'SET d.expired_block_index = NULL, w.ended = NULL, w.due = COALESCE(d.expiration, 0)';
