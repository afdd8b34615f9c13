import type { Pool } from 'mysql2/promise';
import { databaseError, rows, type SqlRow } from '../db/core/connection.ts';
import { pages } from '../db/core/pages.ts';
import type { TransactionRow } from './block-rows.ts';

/** The table of transactions that no block holds yet. It is rewritten all the time, and belongs to this node alone. */
export class MempoolStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Deletes the transactions that left the mempool. @returns the ids of the others */
  async retain(txids: ReadonlySet<string>): Promise<readonly string[]> {
    const stored = (await this.#query<{ hash: string }>('SELECT tx_hash AS hash FROM mempool_transactions')).map(
      ({ hash }) => hash
    );
    for (const part of pages(stored.filter((hash) => !txids.has(hash)))) {
      await this.#query('DELETE FROM mempool_transactions WHERE tx_hash IN (?)', [part]);
    }
    return stored.filter((hash) => txids.has(hash));
  }

  /** Adds transactions; existing ones are left unchanged. */
  async add(transactions: readonly Pick<TransactionRow, 'hash' | 'source' | 'data' | 'rawData'>[]): Promise<void> {
    const values = transactions.map(({ hash, source, data, rawData }) => [
      ...[hash, source, data, rawData && Buffer.from(rawData)]
    ]);
    for (const part of pages(values))
      await this.#query('INSERT IGNORE INTO mempool_transactions (tx_hash, source, data, raw_data) VALUES ?', [part]);
  }

  async #query<T extends SqlRow>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    try {
      return await rows<T>(this.#pool, sql, values);
    } catch (caught) {
      throw databaseError(caught);
    }
  }
}
