import { pages } from '../../db/pages.ts';
import type { Query } from '../lookup.ts';
import { ExtensionDrops } from './extension-drops.ts';
import { KEPT_BLOCKS } from './run.ts';
import { isPartySince, KEYS } from './tills.ts';

/** Keys of a row. */
export type DispenserKey = readonly [txIndex: number, addressId: number];

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

/** Deletes dispensers, and what no rollback can restore of them. */
export class DispenserForgetting {
  readonly #query: Query;
  readonly #drops: ExtensionDrops;

  constructor(query: Query) {
    this.#query = query;
    this.#drops = new ExtensionDrops(query);
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

  /** Returns the next block before which something is forgotten, after those of a block; Infinity for none. */
  async nextAfter(height: number): Promise<number> {
    type Least = Record<'ended' | 'forgotten' | 'extended' | 'dropped', number | null>;
    const [row] = await this.#query<Least>(
      `SELECT (SELECT MIN(ended) FROM dispenser_tills) AS forgotten,
         (SELECT MIN(ended) FROM dispenser_tills WHERE ended > ?) AS ended,
         (SELECT MIN(block_index) FROM dispenser_extensions WHERE block_index > ?) AS extended,
         (SELECT MIN(dropped) FROM dispenser_extension_drops) AS dropped`,
      [height - KEPT_BLOCKS, height - KEPT_BLOCKS]
    );
    const least = (value: number | null | undefined) => Number(value ?? Number.POSITIVE_INFINITY);
    const kept = Math.min(least(row?.ended), least(row?.extended), least(row?.dropped));
    return Math.min(KEPT_BLOCKS + kept, GONE_AFTER + least(row?.forgotten));
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
      for (const part of pages(unused.map(({ id }) => id))) {
        await this.#drops.drop(height, part);
        for (const party of ['source_id', 'address_id'])
          await this.#query(`DELETE FROM dispenser_holds WHERE ${party} IN (?)`, [part]);
      }
      if (unused.length < PAGE) return;
    }
  }
}

const keyOf = ({ txIndex, addressId }: Pick<Ended, 'txIndex' | 'addressId'>): DispenserKey => [txIndex, addressId];
