import { createHash } from 'node:crypto';
import type { SqlRow } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { Query } from './reader.ts';

/**
 * A block of the ledger, and a mark that another block of its height has not: made of the chain's hash, since two blocks may have one
 * second and the same actions, and of the ledger's, since it may have been indexed anew.
 */
export interface Tip {
  readonly height: number;
  readonly mark: string;
  /** Unix seconds. */
  readonly time?: number;
}

const MARK_DIGITS = 16;
const BLOCK = `SELECT b.block_index AS height, b.block_time AS time, n.block_hash AS chain,
    l.hash AS ledger, a.hash AS actions, c.hash AS contract
  FROM blocks b LEFT JOIN chain_blocks n ON n.block_index = b.block_index LEFT JOIN index_transactions l ON l.id = b.ledger_hash_id
  LEFT JOIN index_transactions a ON a.id = b.actions_hash_id LEFT JOIN index_transactions c ON c.id = b.contract_hash_id`;

type BlockRow = {
  height: number;
  time: number;
  chain: string | null;
  ledger: string;
  actions: string;
  contract: string;
};

/** Finds the newest block of a ledger. */
export const NEWEST_BLOCK = `${BLOCK} ORDER BY b.block_index DESC LIMIT 1`;

/** Finds the newest block of a decoder. */
export const DECODER_TIP = 'SELECT MAX(block_index) AS height FROM blocks';

/** Returns the block that `NEWEST_BLOCK` found; null while there is none. */
export function tipIn([block]: readonly SqlRow[]): Tip | null {
  return block ? tipOf(block as BlockRow) : null;
}

/** Sees that a block still stands. @throws {PlatformError} CURSOR_STALE after a reorg */
export async function checkStanding(query: Query, block: Tip): Promise<void> {
  if (await isStanding(query, block)) return;
  const reason = `a reorg replaced block ${block.height}, at which this cursor was made: begin again without it`;
  throw new PlatformError('CURSOR_STALE', { reason });
}

/** Returns whether the ledger has this block at its height. */
export async function isStanding(query: Query, { height, mark }: Tip): Promise<boolean> {
  return (await findBlock(query, height))?.mark === mark;
}

/** Finds the block of a height; null where the ledger has none. */
export async function findBlock(query: Query, height: number): Promise<Tip | null> {
  return tipIn(await query<BlockRow>(`${BLOCK} WHERE b.block_index = ? LIMIT 1`, [height]));
}

function tipOf({ height, ...named }: BlockRow): Tip {
  const digest = createHash('sha256').update(
    JSON.stringify([height, named.chain, named.time, named.ledger, named.actions, named.contract])
  );
  return { height, mark: digest.digest('hex').slice(0, MARK_DIGITS), time: Number(named.time) };
}
