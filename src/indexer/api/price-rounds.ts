import { type Pool, rows } from '../../db/connection.ts';

/** Place of the prices of a round in the ledger. */
export interface RoundPlace {
  /** Number of the action that counts; null: the ledger has no such round. */
  readonly action_index: number | null;
  readonly block_index: number | null;
  /** Newest block that the ledger has. */
  readonly latest_block_index: number | null;
}

/** Reads which action gave the ledger the prices of a round of validators. @throws the driver's error */
export async function readRoundPlace(pool: Pick<Pool, 'query'>, round: number): Promise<RoundPlace> {
  const [tip] = await rows<{ height: number | null }>(pool, 'SELECT MAX(block_index) AS height FROM blocks');
  const [found] = await rows<{ action: number; height: number }>(
    pool,
    `SELECT p.action_index AS action, x.block_index AS height FROM prices p JOIN actions x ON x.action_index = p.action_index
     WHERE p.round_number = ? AND p.version = 0 AND p.validation_status = 'valid' ORDER BY p.action_index LIMIT 1`,
    [round]
  );
  return {
    action_index: found === undefined ? null : Number(found.action),
    block_index: found === undefined ? null : Number(found.height),
    latest_block_index: tip?.height ?? null
  };
}
