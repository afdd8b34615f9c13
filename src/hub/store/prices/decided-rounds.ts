import { type Connection, rows } from '../../../db/connection.ts';

/** A round of prices that a set of hubs decided, as its tables have it. */
interface KeptRound extends Record<string, unknown> {
  readonly round: number;
  /** JSON of what was decided, and of the facts after it. */
  readonly decided: string;
  readonly after: string;
  /** JSON: a list of keys with their signatures of the prices. */
  readonly sigs: string;
}

/** A hub that missed rounds, told prices far from the others', or signed two submissions. */
interface SlashEvidence extends Record<string, unknown> {
  readonly round: number;
  readonly pubkey: string;
  readonly reason: string;
  /** JSON of what shows it. */
  readonly detail: string;
}

/** Returns the newest rounds of a set, the last one first. */
export async function selectDecidedRounds(connection: Connection, limit: number): Promise<readonly KeptRound[]> {
  return await rows<KeptRound>(
    connection,
    `SELECT r.round, r.decided, r.\`after\`,
            (SELECT CONCAT('[', IFNULL(GROUP_CONCAT(JSON_OBJECT('pubkey', s.pubkey, 'sig', s.sig) ORDER BY s.pubkey), ''), ']')
               FROM consensus_statements s WHERE s.round = r.round) AS sigs
       FROM consensus_rounds r ORDER BY r.round DESC LIMIT ?`,
    [limit]
  );
}

/** Returns evidence against hubs of a set, the newest first. */
export async function selectSlashEvidence(connection: Connection, limit: number): Promise<readonly SlashEvidence[]> {
  return await rows<SlashEvidence>(
    connection,
    'SELECT round, pubkey, reason, detail FROM slash_evidence ORDER BY round DESC, pubkey, reason LIMIT ?',
    [limit]
  );
}
