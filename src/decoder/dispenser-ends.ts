import { pages } from '../db/pages.ts';
import { KEPT_BLOCKS, type Stops } from './dispenser-run.ts';
import { isPartySince, KEYS } from './dispenser-tills.ts';
import { ExtensionDrops } from './extension-drops.ts';
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

/** A row of `dispenser_tills` that has ended. */
interface Ended {
  readonly txIndex: number;
  readonly addressId: number;
  readonly sourceId: number;
  readonly address: string;
  /** Height before which it ended. */
  readonly ended: number;
}

/**
 * Blocks after which nobody needs to know that a dispenser was there. It is forgotten half as long after its end, and a
 * rollback may take that back.
 */
const GONE_AFTER = 2 * KEPT_BLOCKS;
/** Tables with rows of a dispenser, beside its till. */
const TABLES = ['dispensers', 'dispenser_payments', 'dispenser_watches'];
/** Rows per statement: anybody may let millions of dispensers end in one block. */
const PAGE = 5_000;

/** Ends dispensers by time, and deletes what no rollback can restore. */
export class DispenserEnds {
  readonly #query: Query;
  readonly #drops: ExtensionDrops;

  constructor(query: Query) {
    this.#query = query;
    this.#drops = new ExtensionDrops(query);
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
   * Forgets dispensers that ended long ago: deletes all but their tills, and drops extensions of addresses without
   * others.
   *
   * A rollback remembers what the blocks forgot that it takes back: so a branch that was left changes nothing.
   *
   * @param isNew whether the tables may have changed otherwise since the last call
   * @yields the addresses of the deleted dispensers
   */
  async *forgetBefore(height: number, isNew: boolean): AsyncGenerator<readonly string[]> {
    const oldest = height - KEPT_BLOCKS;
    await this.#deleteGone(height - GONE_AFTER);
    await this.#drops.deleteUntil(oldest);
    for await (const rows of this.#ended(isNew ? 0 : oldest, oldest)) {
      const kept = await this.#delete(rows);
      if (kept.length > 0) yield kept.map(({ address }) => address);
      const parties = new Set(rows.flatMap(({ addressId, sourceId }) => [addressId, sourceId]));
      if (!isNew) for (const ids of pages([...parties])) await this.#dropUnused(height, ids);
    }
    if (isNew) return await this.#dropUnused(height);
    const extended = await this.#query<{ id: number }>(
      'SELECT address_id AS id FROM dispenser_extensions WHERE block_index = ?',
      [oldest]
    );
    for (const ids of pages(extended.map(({ id }) => id))) await this.#dropUnused(height, ids);
  }

  /** Remembers what was forgotten with a block. */
  async undo(height: number): Promise<void> {
    await this.#drops.restore(height);
  }

  /** Deletes dispensers, and that they were there. */
  async delete(keys: readonly DispenserKey[]): Promise<void> {
    for (const table of [...TABLES, 'dispenser_tills']) await this.#deleteFrom(table, keys);
  }

  /** Returns the next block and time at which something ends or is forgotten, after those of a block. */
  async stopsAfter(height: number): Promise<Stops> {
    type Least = Record<'due' | 'ended' | 'forgotten' | 'extended' | 'dropped', number | null>;
    const [row] = await this.#query<Least>(
      `SELECT (SELECT MIN(due) FROM dispenser_tills) AS due, (SELECT MIN(ended) FROM dispenser_tills) AS forgotten,
         (SELECT MIN(ended) FROM dispenser_tills WHERE ended > ?) AS ended,
         (SELECT MIN(block_index) FROM dispenser_extensions WHERE block_index > ?) AS extended,
         (SELECT MIN(dropped) FROM dispenser_extension_drops) AS dropped`,
      [height - KEPT_BLOCKS, height - KEPT_BLOCKS]
    );
    const least = (value: number | null | undefined) => Number(value ?? Number.POSITIVE_INFINITY);
    const kept = Math.min(least(row?.ended), least(row?.extended), least(row?.dropped));
    return { height: Math.min(KEPT_BLOCKS + kept, GONE_AFTER + least(row?.forgotten)), time: least(row?.due) };
  }

  /** Deletes dispensers but for their tills. @returns those that were there */
  async #delete(rows: readonly Ended[]): Promise<readonly Ended[]> {
    const found = new Set<string>();
    for (const part of pages(rows.map(keyOf)))
      for (const row of await this.#query<Pick<Ended, 'txIndex' | 'addressId'>>(
        `SELECT tx_index AS txIndex, address_id AS addressId FROM dispensers JOIN ${KEYS} USING (tx_index, address_id)`,
        [part]
      ))
        found.add(keyOf(row).join());
    const kept = rows.filter((row) => found.has(keyOf(row).join()));
    for (const table of TABLES) await this.#deleteFrom(table, kept.map(keyOf));
    return kept;
  }

  async #deleteFrom(table: string, keys: readonly DispenserKey[]): Promise<void> {
    for (const part of pages(keys))
      await this.#query(`DELETE ${table} FROM ${table} JOIN ${KEYS} USING (tx_index, address_id)`, [part]);
  }

  async #deleteGone(height: number): Promise<void> {
    for (;;) {
      const gone = await this.#query<Pick<Ended, 'txIndex' | 'addressId'>>(
        `SELECT tx_index AS txIndex, address_id AS addressId FROM dispenser_tills WHERE ended <= ? LIMIT ${PAGE}`,
        [height]
      );
      await this.#deleteFrom('dispenser_tills', gone.map(keyOf));
      if (gone.length < PAGE) return;
    }
  }

  /** Yields the dispensers that ended before some blocks, in parts. @param from height; and `to`, both included */
  async *#ended(from: number, to: number): AsyncGenerator<readonly Ended[]> {
    for (let last = { ended: from, txIndex: -1, addressId: 0 }; ; ) {
      const found = await this.#query<Ended>(
        `SELECT tx_index AS txIndex, address_id AS addressId, source_id AS sourceId, address, ended FROM dispenser_tills
         FORCE INDEX (dispenser_tills_ended) STRAIGHT_JOIN index_addresses ON id = address_id
         WHERE ended BETWEEN ? AND ? AND (ended > ? OR tx_index > ? OR (tx_index = ? AND address_id > ?))
         ORDER BY ended, tx_index, address_id LIMIT ${PAGE}`,
        [last.ended, to, last.ended, last.txIndex, last.txIndex, last.addressId]
      );
      if (found.length > 0) yield found;
      if (found.length < PAGE) return;
      last = found.at(-1)!;
    }
  }

  /** Drops the extensions of addresses without dispensers, once no rollback can undo the latest. */
  async #dropUnused(height: number, ids?: readonly number[]): Promise<void> {
    const oldest = height - KEPT_BLOCKS;
    for (;;) {
      const unused = await this.#query<{ id: number }>(
        `SELECT address_id AS id FROM dispenser_extensions e WHERE ${ids ? 'address_id IN (?)' : 'TRUE'}
         GROUP BY address_id HAVING MAX(block_index) <= ? AND NOT ${isPartySince('e.address_id')} LIMIT ${PAGE}`,
        [...(ids ? [ids] : []), oldest, oldest, oldest]
      );
      for (const part of pages(unused.map(({ id }) => id))) await this.#drops.drop(height, part);
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
