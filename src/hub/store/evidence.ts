import { type Connection, rows } from '../../db/connection.ts';

/** Two messages of one hub for one place, which no honest hub signs. */
interface Evidence extends Record<string, unknown> {
  /** Its key. */
  readonly against: string;
  /** View, place of the log and kind of the message. */
  readonly place: string;
  /** Messages with their signatures, as JSON. */
  readonly first: string;
  readonly second: string;
  readonly noted_at: string;
}

/** Bytes of the messages of an answer: two proposals of one that lies have a megabyte. */
const MOST_BYTES = 4 * 2 ** 20;

/**
 * Returns what a hub in validator mode noted, the newest first: as many pairs as are of a bounded length together, and at least one where
 * there is one.
 */
export async function selectEvidence(connection: Connection, limit: number): Promise<readonly Evidence[]> {
  const lengths = await rows<{ readonly bytes: number }>(
    connection,
    `SELECT LENGTH(first) + LENGTH(second) AS bytes FROM consensus_evidence
     ORDER BY noted_at DESC, against, place LIMIT ?`,
    [limit]
  );
  let [count, left] = [0, MOST_BYTES];
  for (const { bytes } of lengths) {
    left -= Number(bytes);
    if (left < 0 && count > 0) break;
    count += 1;
  }
  return await rows<Evidence>(
    connection,
    'SELECT against, place, first, second, noted_at FROM consensus_evidence ORDER BY noted_at DESC, against, place LIMIT ?',
    [count]
  );
}
