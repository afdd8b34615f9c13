import type { Pool } from 'mysql2/promise';
import { databaseError, rows, type SqlRow } from '../db/connection.ts';
import { pages } from '../db/pages.ts';
import type { TransactionRow } from './block-rows.ts';

/** Deletes the rows of some transactions. The writer of blocks runs it for theirs, within the block's transaction. */
export const NO_LONGER_WAITING = 'DELETE FROM mempool_transactions WHERE tx_hash IN (?)';
const IN_BLOCK = `SELECT h.hash FROM index_transactions h JOIN transactions t ON t.tx_hash_id = h.id WHERE h.hash IN (?)`;

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
      await this.#query(NO_LONGER_WAITING, [part]);
    }
    return stored.filter((hash) => txids.has(hash));
  }

  /** Adds transactions that no block has. Leaves existing rows unchanged. */
  async add(transactions: readonly Pick<TransactionRow, 'hash' | 'source' | 'data' | 'rawData'>[]): Promise<void> {
    const values = transactions.map(({ hash, source, data, rawData }) => [
      hash,
      source,
      data,
      rawData && Buffer.from(rawData)
    ]);
    for (const part of pages(values))
      await this.#query('INSERT IGNORE INTO mempool_transactions (tx_hash, source, data, raw_data) VALUES ?', [part]);
    // Select first: a DELETE with a join would lock rows that the block's writer holds, while that waits for this one.
    for (const part of pages(transactions.map(({ hash }) => hash))) {
      const confirmed = await this.#query<{ hash: string }>(IN_BLOCK, [part]);
      if (confirmed.length > 0) await this.#query(NO_LONGER_WAITING, [confirmed.map(({ hash }) => hash)]);
    }
  }

  async #query<T extends SqlRow>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    try {
      return await rows<T>(this.#pool, sql, values);
    } catch (caught) {
      throw databaseError(caught);
    }
  }
}
