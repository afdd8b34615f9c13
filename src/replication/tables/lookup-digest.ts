import { createHash } from 'node:crypto';
import { type Connection, quoteName, rows } from '../../db/connection.ts';
import { canonicalTextSql } from '../../db/row-codec.ts';
import type { TablePlan } from './classify.ts';

/** Rows that a lookup table is known by: ids are dealt again after a reorg, never further back than this. */
const DIGEST_ROWS = 1000;

/**
 * Returns the digest of a lookup table up to an id. A client states it, and a server compares it before it sends only later rows.
 * It is SHA-256 over the canonical texts of the last 1000 rows up to that id, columns by name, rows by descending id.
 *
 * @returns 64 hex digits; the same on both sides exactly when those rows are equal
 */
export async function lookupDigest(connection: Connection, plan: TablePlan, upToId: number | string): Promise<string> {
  const columns = [...plan.storedColumns].sort((a, b) => (a.name < b.name ? -1 : 1));
  const found = await rows<{ text: string | null }>(
    connection,
    `SELECT ${canonicalTextSql(columns)} AS text FROM ${quoteName(plan.name)} WHERE id <= ? ORDER BY id DESC LIMIT ${DIGEST_ROWS}`,
    [upToId]
  );
  const hash = createHash('sha256');
  for (const { text } of found) hash.update(`${text}\n`);
  return hash.digest('hex');
}
