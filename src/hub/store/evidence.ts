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

/** Returns what a hub in validator mode noted, the newest first. */
export async function selectEvidence(connection: Connection, limit: number): Promise<readonly Evidence[]> {
  return await rows<Evidence>(
    connection,
    'SELECT against, place, first, second, noted_at FROM consensus_evidence ORDER BY noted_at DESC, against, place LIMIT ?',
    [limit]
  );
}
