import Type, { type Static } from 'typebox';
import { type Pool, rows } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import { OrNull } from '../../wire/or-null.ts';

const HashOrNull = OrNull(Type.String());
const IntegerOrNull = OrNull(Type.Integer());

/** Result of `getblockhashes`. */
export const BlockHashesSchema = Type.Object({
  coin: Type.String(),
  network: Type.String(),
  block_index: Type.Integer(),
  block_time: IntegerOrNull,
  block_hash: OrNull(Type.String(), { description: 'hash that the chain gives the block' }),
  ledger_hash: HashOrNull,
  actions_hash: HashOrNull,
  contract_hash: HashOrNull,
  balances_root: HashOrNull,
  stakes_root: HashOrNull,
  state_root: HashOrNull,
  block_merkle_root: HashOrNull,
  state_root_version: OrNull(Type.Integer(), { description: 'null: no validator signs roots' }),
  block_merkle_version: IntegerOrNull
});

/** Part of the result that the ledger answers. */
export type BlockHashesRow = Omit<Static<typeof BlockHashesSchema>, 'coin' | 'network'>;

const hashOf = (column: string) => `(SELECT i.hash FROM index_transactions i WHERE i.id = b.${column})`;

/**
 * Reads the hashes and roots of a block.
 *
 * @param height null: the newest block
 * @throws {PlatformError} RECORD_UNKNOWN; the driver's error
 */
export async function readBlockHashes(pool: Pick<Pool, 'query'>, height: number | null): Promise<BlockHashesRow> {
  const [found] = await rows<BlockHashesRow>(
    pool,
    `SELECT b.block_index, b.block_time, c.block_hash, ${hashOf('ledger_hash_id')} AS ledger_hash,
       ${hashOf('actions_hash_id')} AS actions_hash, ${hashOf('contract_hash_id')} AS contract_hash,
       r.balances_root, r.stakes_root, r.state_root, r.block_merkle_root,
       NULL AS state_root_version, NULL AS block_merkle_version
     FROM blocks b LEFT JOIN chain_blocks c ON c.block_index = b.block_index
     LEFT JOIN state_tree_roots r ON r.block_index = b.block_index
     WHERE b.block_index = COALESCE(?, (SELECT MAX(n.block_index) FROM blocks n)) LIMIT 1`,
    [height]
  );
  if (found) return found;
  throw new PlatformError('RECORD_UNKNOWN', { reason: `there is no block ${height ?? 'yet'}` });
}
