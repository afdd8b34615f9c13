import { createHash, type Hash } from 'node:crypto';
import { type Connection, rows } from '../../db/connection.ts';
import type { IndexMapDigest } from '../../wire/data/index-map.ts';

const PAGE = 10_000;

/**
 * The digest of a database's `index_addresses`: SHA-256 over `id NUL address LF` in id order. What was read once is not
 * read again except for its last pages, where a reorg may have changed ids.
 */
export class IndexMap {
  #base: Hash = createHash('sha256');
  #baseId = -1;

  /** @param upTo the highest id that counts; null: all. @returns null where there is no such row or table */
  async read(connection: Connection, upTo: number | null): Promise<IndexMapDigest | null> {
    const [table] = await rows(
      connection,
      `SELECT 1 FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'index_addresses' AND COLUMN_NAME = 'address'`
    );
    if (!table) return null;
    if (upTo !== null && upTo < this.#baseId) this.#reset();
    const hash = this.#base.copy();
    for (let last = this.#baseId; ; ) {
      const [before, beforeId] = [hash.copy(), last];
      const page = await rows<{ id: number; address: string | null }>(
        connection,
        `SELECT id, address FROM index_addresses WHERE id > ? ${upTo === null ? '' : 'AND id <= ?'} ORDER BY id LIMIT ${PAGE}`,
        upTo === null ? [last] : [last, upTo]
      );
      for (const { id, address } of page) hash.update(`${id}\0${address ?? ''}\n`);
      last = Number(page.at(-1)?.id ?? last);
      if (page.length === PAGE) [this.#base, this.#baseId] = [before, beforeId];
      else return last === -1 ? null : { max_id: last, sha256: hash.digest('hex') };
    }
  }

  #reset(): void {
    this.#base = createHash('sha256');
    this.#baseId = -1;
  }
}
