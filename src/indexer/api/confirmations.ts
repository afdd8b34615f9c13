import Type, { type Static } from 'typebox';
import { type Pool, rows } from '../../db/connection.ts';
import { OrNull } from '../../wire/or-null.ts';

/** Result of `getactionconfirmations`. */
export const ConfirmationsSchema = Type.Object({
  coin: Type.String(),
  network: Type.String(),
  action_index: Type.Integer(),
  exists: Type.Boolean(),
  action: OrNull(Type.String()),
  block_index: OrNull(Type.Integer()),
  latest_block_index: OrNull(Type.Integer()),
  confirmations: Type.Integer({ description: '1 in the newest block, 0 for an action that does not exist' })
});

/** Part of the result that the ledger answers. */
export type ActionPlace = Pick<
  Static<typeof ConfirmationsSchema>,
  'exists' | 'action' | 'block_index' | 'latest_block_index' | 'confirmations'
>;

/** Reads how many blocks are on top of an action. @throws the driver's error */
export async function readConfirmations(pool: Pick<Pool, 'query'>, actionIndex: number): Promise<ActionPlace> {
  const [tip] = await rows<{ height: number | null }>(pool, 'SELECT MAX(block_index) AS height FROM blocks');
  const [found] = await rows<{ action: string; height: number }>(
    pool,
    `SELECT i.action, x.block_index AS height FROM actions x JOIN index_actions i ON i.id = x.action_id
     WHERE x.action_index = ?`,
    [actionIndex]
  );
  const latest = tip?.height ?? null;
  return {
    exists: found !== undefined,
    action: found?.action ?? null,
    block_index: found?.height ?? null,
    latest_block_index: latest,
    confirmations: found === undefined || latest === null ? 0 : Math.max(0, latest - found.height + 1)
  };
}
