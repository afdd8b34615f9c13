import type { Pool } from 'mysql2/promise';
import { databaseError, rows, type SqlRow } from '../db/connection.ts';
import { pages } from '../db/pages.ts';
import type { TransactionRow } from './block-rows.ts';

const IN_BLOCK = `mempool_transactions m JOIN index_transactions h ON h.hash = m.tx_hash
  JOIN transactions t ON t.tx_hash_id = h.id`;
/** Deletes rows of transactions that a block has. The writer runs it within the block's transaction. */
export const CONFIRMED = `DELETE m FROM ${IN_BLOCK}`;
const WAITS_IN_BLOCK = `SELECT m.tx_hash AS hash FROM ${IN_BLOCK}`;

/** Table of unconfirmed transactions. It is rewritten all the time and never replicated. */
export class MempoolStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Deletes transactions that left the mempool. @returns the ids of the others */
  async retain(txids: ReadonlySet<string>): Promise<readonly string[]> {
    const stored = (await this.#query<{ hash: string }>('SELECT tx_hash AS hash FROM mempool_transactions')).map(
      ({ hash }) => hash
    );
    for (const part of pages(stored.filter((hash) => !txids.has(hash)))) {
      await this.#query('DELETE FROM mempool_transactions WHERE tx_hash IN (?)', [part]);
    }
    return stored.filter((hash) => txids.has(hash));
  }

  /** Adds transactions that no block has. Leaves existing rows unchanged. */
  async add(transactions: readonly Pick<TransactionRow, 'hash' | 'source' | 'data' | 'rawData'>[]): Promise<void> {
    const values = transactions.map(({ hash, source, data, rawData }) => [
      ...[hash, source, data, rawData && Buffer.from(rawData)]
    ]);
    for (const part of pages(values))
      await this.#query('INSERT IGNORE INTO mempool_transactions (tx_hash, source, data, raw_data) VALUES ?', [part]);
    // Select first: a DELETE with a join would lock rows that the block's writer holds, while that waits for this one.
    const confirmed = values.length === 0 ? [] : await this.#query<{ hash: string }>(WAITS_IN_BLOCK);
    for (const part of pages(confirmed.map(({ hash }) => hash)))
      await this.#query('DELETE FROM mempool_transactions WHERE tx_hash IN (?)', [part]);
  }

  async #query<T extends SqlRow>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    try {
      return await rows<T>(this.#pool, sql, values);
    } catch (caught) {
      throw databaseError(caught);
    }
  }
}
