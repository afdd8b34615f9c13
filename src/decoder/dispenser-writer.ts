import { pages } from '../db/core/pages.ts';
import type { BlockRows, TransactionRow } from './block-rows.ts';
import { DispenserBook, KEPT_BLOCKS } from './dispenser-book.ts';
import type { Lookup, Query } from './lookup.ts';

/** A transaction that has a row, and its place. */
export interface PlacedTransaction extends TransactionRow {
  readonly txIndex: number;
  readonly height: number;
}

/** The dispensers of a decoder database. Each call is part of the transaction that writes or deletes its block. */
export class DispenserWriter {
  readonly #query: Query;
  readonly #addresses: Lookup;
  /** As the table stands; undefined: to be read. */
  #book: DispenserBook | undefined;

  constructor(query: Query, addresses: Lookup) {
    this.#query = query;
    this.#addresses = addresses;
  }

  /** Addresses whose payments are to be looked for in further blocks. */
  async addresses(): Promise<readonly string[]> {
    return [...(await this.#opened()).addresses()];
  }

  /**
   * Takes the transactions of blocks one after the other: what each does to dispensers, and which of its outputs pay one that is
   * open at that place. One without text that pays none has no row.
   *
   * @param first  index of the first that has a row
   */
  async place(blocks: readonly BlockRows[], first: number): Promise<readonly PlacedTransaction[]> {
    const book = await this.#opened();
    const placed: PlacedTransaction[] = [];
    for (const { height, time, transactions } of blocks) {
      book.enter(height, time);
      for (const transaction of transactions) {
        const outputs = transaction.outputs.filter(({ address, isPayment }) => !isPayment || book.isOpen(address));
        if (transaction.data === '' && outputs.length === 0) continue;
        const row = { ...transaction, outputs, height, txIndex: first + placed.length };
        placed.push(row);
        book.apply(row);
      }
    }
    return placed;
  }

  /** Writes what the placed transactions changed, whose addresses have ids by now, and deletes what nothing brings back. */
  async write(height: number): Promise<void> {
    const book = await this.#opened();
    const { rows, replaced } = book.takeChanges();
    book.purge();
    const { ids } = await this.#addresses.idsOf([
      rows.flatMap(({ address, source, oracleAddress }) => [address, source, oracleAddress ?? ''])
    ]);
    const idOf = (address: string) => ids.get(address)!;
    for (const part of pages(rows)) {
      await this.#query(
        `INSERT INTO dispensers (tx_index, address_id, expiration, oracle_address_id, source_address_id, expired_block_index)
         VALUES ? ON DUPLICATE KEY UPDATE expiration = VALUES(expiration), expired_block_index = VALUES(expired_block_index)`,
        [
          part.map(({ txIndex, address, expiration, oracleAddress, source, expiredAt }) => [
            ...[txIndex, idOf(address), expiration, oracleAddress && idOf(oracleAddress), idOf(source), expiredAt]
          ])
        ]
      );
    }
    for (const part of pages(replaced)) {
      await this.#query('INSERT IGNORE INTO dispenser_extension_undo VALUES ?', [
        part.map(({ height: changedAt, dispenser: { txIndex, address, expiration, expiredAt } }) => [
          ...[changedAt, txIndex, idOf(address), expiration, expiredAt]
        ])
      ]);
    }
    await this.#query('DELETE FROM dispensers WHERE expired_block_index <= ?', [height - KEPT_BLOCKS]);
    await this.#query('DELETE FROM dispenser_extension_undo WHERE block_index <= ?', [height - KEPT_BLOCKS]);
  }

  /** Takes back what a block did, before its transactions are deleted. */
  async undo(height: number): Promise<void> {
    this.forget();
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

  /** Takes nothing for granted that is not read from the table again. */
  forget(): void {
    this.#book = undefined;
  }

  async #opened(): Promise<DispenserBook> {
    this.#book ??= new DispenserBook(
      await this.#query(
        `SELECT tx_index AS txIndex, a.address, o.address AS oracleAddress, s.address AS source, expiration,
         expired_block_index AS expiredAt FROM dispensers d JOIN index_addresses a ON a.id = d.address_id
         JOIN index_addresses s ON s.id = d.source_address_id LEFT JOIN index_addresses o ON o.id = d.oracle_address_id`
      )
    );
    return this.#book;
  }
}
