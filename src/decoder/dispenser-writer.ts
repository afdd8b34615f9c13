import type { BlockRows, TransactionRow } from './block-rows.ts';
import type { Query } from './lookup.ts';

/** A transaction as it was written. */
export interface WrittenTransaction extends TransactionRow {
  readonly txIndex: number;
}

const DAYS_90_S = 90 * 86_400;
/** Blocks after which what expired can come back neither by a rollback nor by an extension. */
const KEPT_BLOCKS = 126;

/** The dispensers of a decoder database. Each call is part of the transaction that writes or deletes its block. */
export class DispenserWriter {
  readonly #query: Query;
  /** The first expiration among those that are open; Infinity: none is; undefined: to be read. */
  #earliest: number | undefined;

  constructor(query: Query) {
    this.#query = query;
  }

  /** Marks what expired before a block, then opens and extends what its transactions say. */
  async apply(
    { height, time }: BlockRows,
    transactions: readonly WrittenTransaction[],
    addressIds: ReadonlyMap<string, number>
  ): Promise<void> {
    await this.#expire(height, time);
    for (const { dispensers, source, txIndex } of transactions) {
      const { opened, extendedTo } = dispensers;
      const sourceId = addressIds.get(source)!;
      if (opened) {
        const { address, oracleAddress, expiration } = opened;
        this.#earliest = undefined;
        await this.#query(
          'INSERT INTO dispensers (tx_index, address_id, expiration, oracle_address_id, source_address_id) VALUES (?)',
          [
            [
              txIndex,
              addressIds.get(address ?? source),
              expiration ?? time + DAYS_90_S,
              oracleAddress && addressIds.get(oracleAddress),
              sourceId
            ]
          ]
        );
      }
      if (extendedTo !== null) await this.#extend(height, time, sourceId, extendedTo);
    }
  }

  /** Takes back what a block did, before its transactions are deleted. */
  async undo(height: number): Promise<void> {
    this.#earliest = undefined;
    await this.#query(
      `UPDATE dispensers d JOIN dispenser_extension_undo u USING (tx_index, address_id)
       SET d.expiration = u.prior_expiration, d.expired_block_index = u.prior_expired_block_index WHERE u.block_index = ?`,
      [height]
    );
    await this.#query('DELETE FROM dispenser_extension_undo WHERE block_index = ?', [height]);
    await this.#query('UPDATE dispensers SET expired_block_index = NULL WHERE expired_block_index = ?', [height]);
    await this.#query('DELETE d FROM dispensers d JOIN transactions t USING (tx_index) WHERE t.block_index = ?', [
      height
    ]);
  }

  /** Deletes what expired so long ago that nothing brings it back. */
  async purge(height: number): Promise<void> {
    await this.#query('DELETE FROM dispensers WHERE expired_block_index <= ?', [height - KEPT_BLOCKS]);
    await this.#query('DELETE FROM dispenser_extension_undo WHERE block_index <= ?', [height - KEPT_BLOCKS]);
  }

  /** Takes nothing for granted that is not read from the table again. */
  forget(): void {
    this.#earliest = undefined;
  }

  async #expire(height: number, time: number): Promise<void> {
    this.#earliest ??= await this.#readEarliest();
    if (this.#earliest >= time) return;
    await this.#query(
      'UPDATE dispensers SET expired_block_index = ? WHERE expired_block_index IS NULL AND expiration < ?',
      [height, time]
    );
    this.#earliest = undefined;
  }

  async #readEarliest(): Promise<number> {
    const [row] = await this.#query<{ earliest: number | null }>(
      'SELECT MIN(expiration) AS earliest FROM dispensers WHERE expired_block_index IS NULL'
    );
    return Number(row?.earliest ?? Number.POSITIVE_INFINITY);
  }

  async #extend(height: number, time: number, sourceId: number, expiration: number): Promise<void> {
    this.#earliest = undefined;
    const which = 'source_address_id = ? AND (expired_block_index IS NULL OR expired_block_index > ?)';
    const values = [sourceId, height - KEPT_BLOCKS];
    await this.#query(
      `INSERT IGNORE INTO dispenser_extension_undo
       SELECT ?, tx_index, address_id, expiration, expired_block_index FROM dispensers WHERE ${which}`,
      [height, ...values]
    );
    await this.#query(
      `UPDATE dispensers SET expiration = ?, expired_block_index = IF(? < ?, expired_block_index, NULL) WHERE ${which}`,
      [expiration, expiration, time, ...values]
    );
  }
}
