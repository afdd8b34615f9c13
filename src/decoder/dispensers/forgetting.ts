import { pages } from '../../db/pages.ts';
import type { Query } from '../lookup.ts';
import { ExtensionDrops } from './extension-drops.ts';
import { KEPT_BLOCKS } from './run.ts';
import { IDS, isPartySince, KEYS } from './tills.ts';

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
      await this.#query(`DELETE x FROM ${KEYS} STRAIGHT_JOIN ${table} x USING (tx_index, address_id)`, [part]);
  }

  async #deleteGone(height: number): Promise<void> {
    for await (const rows of this.#ended(0, height)) await this.#deleteFrom('dispenser_tills', rows.map(keyOf));
  }

  /**
   * Yields the dispensers that ended before some blocks, in parts. Each part begins in the index where the one before
   * ended, and passes nothing that is deleted.
   *
   * @param from height; and `to`, both included
   */
  async *#ended(from: number, to: number): AsyncGenerator<readonly Ended[]> {
    for (let last = { ended: from, txIndex: 0, addressId: 0 }; ; ) {
      const found = await this.#query<Ended>(
        `SELECT tx_index AS txIndex, address_id AS addressId, source_id AS sourceId, address, ended FROM dispenser_tills
         FORCE INDEX (dispenser_tills_ended) STRAIGHT_JOIN index_addresses ON id = address_id
         WHERE (ended > ? OR (ended = ? AND tx_index > ?) OR (ended = ? AND tx_index = ? AND address_id > ?)) AND ended <= ?
         ORDER BY ended, tx_index, address_id LIMIT ${PAGE}`,
        [last.ended, last.ended, last.txIndex, last.ended, last.txIndex, last.addressId, to]
      );
      if (found.length > 0) yield found;
      if (found.length < PAGE) return;
      last = found.at(-1)!;
    }
  }

  /** Drops the extensions of addresses without dispensers, once no rollback can undo the latest. */
  async #dropUnused(height: number, ids?: readonly number[]): Promise<void> {
    const oldest = height - KEPT_BLOCKS;
    const from = ids ? `${IDS} STRAIGHT_JOIN` : '';
    for (let last = 0; ; ) {
      const unused = await this.#query<{ id: number }>(
        `SELECT e.address_id AS id FROM ${from} dispenser_extensions e FORCE INDEX (dispenser_extensions_address)
         WHERE e.address_id > ? ${ids ? 'AND e.address_id = k.id' : ''} GROUP BY e.address_id
         HAVING MAX(e.block_index) <= ? AND NOT ${isPartySince('e.address_id')} ORDER BY e.address_id LIMIT ${PAGE}`,
        [...(ids ? [ids.map(rowOf)] : []), last, oldest, oldest, oldest]
      );
      for (const part of pages(unused.map(({ id }) => id))) {
        await this.#drops.drop(height, part);
        for (const [party, index] of HOLD_KEYS)
          await this.#query(
            `DELETE h FROM ${IDS} STRAIGHT_JOIN dispenser_holds h FORCE INDEX (${index}) ON h.${party} = k.id`,
            [part.map(rowOf)]
          );
      }
      if (unused.length < PAGE) return;
      last = unused.at(-1)!.id;
    }
  }
}

/** Columns of `dispenser_holds`, each with the index by which its rows are found. */
const HOLD_KEYS = [
  ['source_id', 'PRIMARY'],
  ['address_id', 'dispenser_holds_address']
] as const;

const rowOf = (id: number) => [id];
const keyOf = ({ txIndex, addressId }: Pick<Ended, 'txIndex' | 'addressId'>): DispenserKey => [txIndex, addressId];
