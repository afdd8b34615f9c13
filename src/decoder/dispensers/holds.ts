import { pages } from '../../db/pages.ts';
import type { Query } from '../lookup.ts';
import { KEYS, latestExtension } from './tills.ts';

/** Ids of the source and the paid address of dispensers. */
type Pair = readonly [sourceId: number, addressId: number];

/** An index of `dispenser_holds`: the column by which its pairs are found, the other one, and its name. */
const BY_SOURCE = ['source_id', 'address_id', 'PRIMARY'] as const;
const BY_ADDRESS = ['address_id', 'source_id', 'dispenser_holds_address'] as const;
/** Ids in a list after IN: for 200 or more MariaDB asks statistics, which may be old, and not the index. */
const MOST_IDS = 150;
/** Rows per statement: anybody may have millions held. */
const PAGE = 10_000;

/**
 * Dispensers that edits hold open beyond their own times, which are no longer due: it is their source and paid address
 * by which they end.
 *
 * So an edit costs the same however many dispensers it extends, and however often.
 */
export class DispenserHolds {
  readonly #query: Query;
  /** Time of the latest release; undefined for none. */
  #releasedTo: number | undefined;

  constructor(query: Query) {
    this.#query = query;
  }

  /**
   * Holds those that are due but were extended.
   *
   * @param due condition for rows `w` of `dispenser_tills`, and its values
   * @param over time in Unix seconds up to which they must have been extended
   */
  async hold(due: string, values: readonly unknown[], over: number): Promise<void> {
    const held = `${due} AND ${latestEdit('w')} >= ?`;
    await this.#query(
      `INSERT IGNORE INTO dispenser_holds (source_id, address_id)
       SELECT DISTINCT w.source_id, w.address_id FROM dispenser_tills w WHERE ${held}`,
      [...values, over]
    );
    await this.#query(`UPDATE dispenser_tills w SET w.due = NULL WHERE ${held}`, [...values, over]);
  }

  /** Drops cached state: the next release looks at all of them. */
  forget(): void {
    this.#releasedTo = undefined;
  }

  /** Makes those due again whose edits are over. @param over time in Unix seconds */
  async release(over: number): Promise<void> {
    const from = this.#releasedTo;
    this.#releasedTo = over;
    if (from === undefined) return await this.#releasePairs(BY_SOURCE, undefined, over);
    const ended = await this.#query<{ id: number }>(
      `SELECT DISTINCT e.address_id AS id FROM dispenser_extensions e
       WHERE e.expiration >= ? AND e.expiration < ? AND ${latestExtension('e.address_id')} < ?`,
      [from, over, over]
    );
    const ids = ended.map(({ id }) => id);
    for (const part of pages(ids, MOST_IDS))
      for (const index of [BY_SOURCE, BY_ADDRESS]) await this.#releasePairs(index, part, over);
  }

  /** Returns the first time, from the latest release on, at which an edit is over; Infinity when nothing is held. */
  async nextEnd(): Promise<number> {
    const [row] = await this.#query<{ next: number | null }>(
      this.#releasedTo === undefined
        ? 'SELECT 0 AS next FROM dispenser_holds LIMIT 1'
        : `SELECT (SELECT MIN(expiration) FROM dispenser_extensions WHERE expiration >= ?) AS next
           FROM dispenser_holds LIMIT 1`,
      [this.#releasedTo]
    );
    return Number(row?.next ?? Number.POSITIVE_INFINITY);
  }

  async #releasePairs(
    [column, other, index]: typeof BY_SOURCE | typeof BY_ADDRESS,
    ids: readonly number[] | undefined,
    over: number
  ): Promise<void> {
    for (let last = { id: 0, otherId: 0 }; ; ) {
      const found = await this.#query<typeof last>(
        `SELECT h.${column} AS id, h.${other} AS otherId FROM dispenser_holds h FORCE INDEX (${index})
         WHERE ${ids ? `h.${column} IN (?)` : 'TRUE'} AND (h.${column} > ? OR (h.${column} = ? AND h.${other} > ?))
           AND ${latestEdit('h')} < ? ORDER BY h.${column}, h.${other} LIMIT ${PAGE}`,
        [...(ids ? [ids] : []), last.id, last.id, last.otherId, over]
      );
      const pairs = found.map(({ id, otherId }): Pair => (column === 'source_id' ? [id, otherId] : [otherId, id]));
      for (const part of pages(pairs)) {
        await this.#makeDue(part);
        await this.#query(`DELETE h FROM dispenser_holds h JOIN ${PAIRS} USING (source_id, address_id)`, [part]);
      }
      if (found.length < PAGE) return;
      last = found.at(-1)!;
    }
  }

  async #makeDue(pairs: readonly Pair[]): Promise<void> {
    for (;;) {
      const held = await this.#query<{ txIndex: number; addressId: number }>(
        `SELECT w.tx_index AS txIndex, w.address_id AS addressId FROM ${PAIRS} STRAIGHT_JOIN dispenser_tills w
         FORCE INDEX (dispenser_tills_pairs) USING (source_id, address_id) WHERE w.ended IS NULL AND w.due IS NULL LIMIT ${PAGE}`,
        [pairs]
      );
      for (const keys of pages(held.map(({ txIndex, addressId }) => [txIndex, addressId])))
        await this.#query(
          `UPDATE dispenser_tills w JOIN ${KEYS} USING (tx_index, address_id) JOIN dispensers d USING (tx_index, address_id)
           SET w.due = COALESCE(d.expiration, 0)`,
          [keys]
        );
      if (held.length < PAGE) return;
    }
  }
}

/** Keys of pairs, to be joined. */
const PAIRS = '(WITH p (source_id, address_id) AS (VALUES ?) SELECT * FROM p) p';

/** Expression for the latest expiration that edits asked for: both parties of a dispenser may edit it in a ledger. */
const latestEdit = (row: string) =>
  `GREATEST(${latestExtension(`${row}.source_id`)}, ${latestExtension(`${row}.address_id`)})`;
