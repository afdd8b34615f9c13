import { pages } from '../../db/pages.ts';
import type { Query } from '../lookup.ts';
import { IDS } from './tills.ts';

/** A row of `dispenser_extensions`. */
interface Row {
  readonly height: number;
  readonly addressId: number;
  readonly expiration: number;
}

/** Rows per statement: an address may have very many extensions. */
const PAGE = 5_000;
const COLUMNS = 'block_index AS height, address_id AS addressId, expiration';
/** Keys of rows, to be joined. */
const KEYS = '(WITH k (block_index, address_id) AS (VALUES ?) SELECT * FROM k) k';

/** Takes extensions out of use, and restores them. */
export class ExtensionDrops {
  readonly #query: Query;

  constructor(query: Query) {
    this.#query = query;
  }

  /** Drops all extensions of addresses. @param ids those of the addresses */
  async drop(height: number, ids: readonly number[]): Promise<void> {
    for (;;) {
      const found = await this.#query<Row>(
        `SELECT ${COLUMNS} FROM ${IDS} STRAIGHT_JOIN dispenser_extensions FORCE INDEX (dispenser_extensions_address)
         ON address_id = k.id LIMIT ${PAGE}`,
        [ids.map((id) => [id])]
      );
      for (const part of pages(found)) {
        await this.#query(
          `INSERT INTO dispenser_extension_drops (dropped, block_index, address_id, expiration) VALUES ?
           ON DUPLICATE KEY UPDATE expiration = VALUES(expiration)`,
          [part.map((row) => [height, ...valuesOf(row)])]
        );
        await this.#query(`DELETE e FROM dispenser_extensions e JOIN ${KEYS} USING (block_index, address_id)`, [
          part.map(keyOf)
        ]);
      }
      if (found.length < PAGE) return;
    }
  }

  /** Restores what was dropped before a block. */
  async restore(height: number): Promise<void> {
    for (;;) {
      const found = await this.#query<Row>(
        `SELECT ${COLUMNS} FROM dispenser_extension_drops WHERE dropped = ? LIMIT ${PAGE}`,
        [height]
      );
      for (const part of pages(found)) {
        await this.#query(
          `INSERT INTO dispenser_extensions (block_index, address_id, expiration) VALUES ?
           ON DUPLICATE KEY UPDATE expiration = VALUES(expiration)`,
          [part.map(valuesOf)]
        );
        await this.#query(
          `DELETE e FROM dispenser_extension_drops e JOIN ${KEYS} USING (block_index, address_id) WHERE e.dropped = ?`,
          [part.map(keyOf), height]
        );
      }
      if (found.length < PAGE) return;
    }
  }

  /** Deletes what was dropped up to a block. */
  async deleteUntil(height: number): Promise<void> {
    for (;;) {
      const found = await this.#query(`SELECT 1 FROM dispenser_extension_drops WHERE dropped <= ? LIMIT ${PAGE}`, [
        height
      ]);
      if (found.length > 0)
        await this.#query(`DELETE FROM dispenser_extension_drops WHERE dropped <= ? LIMIT ${PAGE}`, [height]);
      if (found.length < PAGE) return;
    }
  }
}

const keyOf = ({ height, addressId }: Row) => [height, addressId];
const valuesOf = ({ height, addressId, expiration }: Row) => [height, addressId, expiration];
