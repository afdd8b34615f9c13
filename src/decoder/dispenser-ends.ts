import { pages } from '../db/pages.ts';
import { KEPT_BLOCKS, type Stops } from './dispenser-run.ts';
import { KEYS } from './dispenser-tills.ts';
import type { Query } from './lookup.ts';

/** Keys of a row. */
export type DispenserKey = readonly [txIndex: number, addressId: number];

/** A row of `dispenser_tills` whose time is over, unless an edit extended it. */
interface Due {
  readonly txIndex: number;
  readonly addressId: number;
  readonly sourceId: number;
  /** Unix seconds. */
  readonly end: number;
}

interface Gone {
  readonly txIndex: number;
  readonly addressId: number;
  readonly sourceId: number;
  readonly address: string;
}

/** Rows per statement: anybody may let millions of dispensers end in one block. */
const PAGE = 5_000;

/** Ends dispensers by time, and deletes what no rollback can restore. */
export class DispenserEnds {
  readonly #query: Query;

  constructor(query: Query) {
    this.#query = query;
  }

  /** Ends those of which a ledger closed the last at the end of the block below. @param over median in Unix seconds */
  async endBefore(height: number, over: number): Promise<void> {
    if (over === Number.NEGATIVE_INFINITY) return;
    for (;;) {
      const due = await this.#query<Due>(
        `SELECT w.tx_index AS txIndex, w.address_id AS addressId, w.source_id AS sourceId, ${END} AS end
         FROM dispenser_tills w STRAIGHT_JOIN dispensers d USING (tx_index, address_id) WHERE w.due < ?
         ORDER BY w.due LIMIT ${PAGE}`,
        [over]
      );
      const [ended, extended] = [due.filter(({ end }) => end < over), due.filter(({ end }) => end >= over)];
      for (const keys of pages(ended.map(keyOf))) {
        await this.#query(`UPDATE dispensers JOIN ${KEYS} USING (tx_index, address_id) SET expired_block_index = ?`, [
          keys,
          height
        ]);
        await this.#query(
          `UPDATE dispenser_tills JOIN ${KEYS} USING (tx_index, address_id) SET ended = ?, due = NULL`,
          [keys, height]
        );
      }
      for (const part of pages(extended))
        await this.#query(
          `INSERT INTO dispenser_tills (tx_index, address_id, source_id, is_own, least, due) VALUES ?
           ON DUPLICATE KEY UPDATE due = VALUES(due)`,
          [part.map((row) => [...keyOf(row), row.sourceId, row.sourceId === row.addressId, 0, row.end])]
        );
      if (due.length < PAGE) return;
    }
  }

  /**
   * Deletes dispensers that ended long ago, and extensions of addresses without dispensers.
   *
   * @param isNew whether the tables may have changed otherwise since the last call
   * @yields the addresses of the deleted dispensers
   */
  async *forgetBefore(height: number, isNew: boolean): AsyncGenerator<readonly string[]> {
    const oldest = height - KEPT_BLOCKS;
    for (;;) {
      const gone = await this.#query<Gone>(
        `SELECT tx_index AS txIndex, address_id AS addressId, source_id AS sourceId, address FROM dispenser_tills
         STRAIGHT_JOIN index_addresses ON id = address_id WHERE ended <= ? LIMIT ${PAGE}`,
        [oldest]
      );
      if (gone.length > 0) yield gone.map(({ address }) => address);
      await this.delete(gone.map(keyOf));
      const parties = gone.flatMap(({ addressId, sourceId }) => [addressId, sourceId]);
      for (const ids of pages([...new Set(parties)])) await this.#dropUnused(oldest, ids);
      if (gone.length < PAGE) break;
    }
    if (isNew) return await this.#dropUnused(oldest);
    const extended = await this.#query<{ id: number }>(
      'SELECT address_id AS id FROM dispenser_extensions WHERE block_index = ?',
      [oldest]
    );
    for (const ids of pages(extended.map(({ id }) => id))) await this.#dropUnused(oldest, ids);
  }

  /** Deletes dispensers. */
  async delete(keys: readonly DispenserKey[]): Promise<void> {
    for (const part of pages(keys))
      for (const table of ['dispensers', 'dispenser_payments', 'dispenser_watches', 'dispenser_tills'])
        await this.#query(`DELETE ${table} FROM ${table} JOIN ${KEYS} USING (tx_index, address_id)`, [part]);
  }

  /** Returns the next block and time at which something ends or is forgotten, after those of a block. */
  async stopsAfter(height: number): Promise<Stops> {
    const [row] = await this.#query<{ due: number | null; ended: number | null; extended: number | null }>(
      `SELECT (SELECT MIN(due) FROM dispenser_tills) AS due, (SELECT MIN(ended) FROM dispenser_tills) AS ended,
         (SELECT MIN(block_index) FROM dispenser_extensions WHERE block_index > ?) AS extended`,
      [height - KEPT_BLOCKS]
    );
    const least = (value: number | null | undefined) => Number(value ?? Number.POSITIVE_INFINITY);
    return { height: KEPT_BLOCKS + Math.min(least(row?.ended), least(row?.extended)), time: least(row?.due) };
  }

  /** Deletes the extensions of addresses without dispensers, once no rollback can undo the latest. */
  async #dropUnused(oldest: number, ids?: readonly number[]): Promise<void> {
    for (;;) {
      const unused = await this.#query<{ id: number }>(
        `SELECT address_id AS id FROM dispenser_extensions e WHERE ${ids ? 'address_id IN (?)' : 'TRUE'}
           AND NOT EXISTS (SELECT 1 FROM dispenser_tills w WHERE w.source_id = e.address_id)
           AND NOT EXISTS (SELECT 1 FROM dispenser_tills w WHERE w.address_id = e.address_id)
         GROUP BY address_id HAVING MAX(block_index) <= ? LIMIT ${PAGE}`,
        ids ? [ids, oldest] : [oldest]
      );
      for (const part of pages(unused.map(({ id }) => id)))
        await this.#query('DELETE FROM dispenser_extensions WHERE address_id IN (?)', [part]);
      if (unused.length < PAGE) return;
    }
  }
}

/**
 * Latest expiration that anybody asked for: in a ledger both the opener and the owner of the paid address may edit a
 * dispenser.
 */
const END = `GREATEST(COALESCE(d.expiration, 0),
  COALESCE((SELECT MAX(e.expiration) FROM dispenser_extensions e WHERE e.address_id = w.source_id), 0),
  COALESCE((SELECT MAX(e.expiration) FROM dispenser_extensions e WHERE e.address_id = w.address_id), 0))`;

const keyOf = ({ txIndex, addressId }: Pick<Due, 'txIndex' | 'addressId'>): DispenserKey => [txIndex, addressId];
