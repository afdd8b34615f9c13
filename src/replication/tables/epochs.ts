import { epochRoot, type LeafHashes, leafHash } from '../../consensus/epoch-tree.ts';
import { type Connection, rows, type SqlRow, type Statements } from '../../db/connection.ts';
import { write } from '../../db/statement-batch.ts';

/** One change of an epoch's committed root; null: there was or is none. */
export interface EpochRewrite {
  readonly epoch: number;
  readonly old_root: string | null;
  readonly new_root: string | null;
}

/**
 * Returns the sizes, in blocks, of the log's complete epochs.
 *
 * @returns none where no epoch is whole; several where an earlier version mixed them
 */
export async function readEpochSizes(connection: Connection): Promise<readonly number[]> {
  const found = await rows<{ size: number }>(
    connection,
    `SELECT DISTINCT leaf_count AS size FROM merkle_epochs
     WHERE end_block = epoch * leaf_count AND start_block + leaf_count = end_block + 1 ORDER BY 1`
  );
  return found.map(({ size }) => Number(size));
}

/** Reads the committed epochs that hold blocks which epochs of this size do not. */
export async function readMisfits(connection: Connection, epochSize: number): Promise<readonly number[]> {
  const found = await rows<{ epoch: number }>(
    connection,
    'SELECT epoch FROM merkle_epochs WHERE end_block > epoch * ? OR start_block + ? <= epoch * ?',
    [epochSize, epochSize, epochSize]
  );
  return found.map(({ epoch }) => Number(epoch));
}

/** Reads one epoch's recorded blocks in ascending height. */
export async function readEpochBlocks(
  connection: Statements,
  epoch: number,
  epochSize: number
): Promise<(LeafHashes & { readonly block_index: number } & SqlRow)[]> {
  return rows(
    connection,
    'SELECT block_index, ledger_hash, actions_hash, contract_hash FROM sync_meta WHERE block_index BETWEEN ? AND ? ORDER BY block_index',
    [(epoch - 1) * epochSize + 1, epoch * epochSize]
  );
}

/** An epoch's root over the blocks at hand. */
interface EpochSummary {
  readonly epoch: number;
  readonly startBlock: number;
  readonly endBlock: number;
  readonly root: string;
  readonly leafCount: number;
}

/** Commits an epoch from the rows at hand; an equal root stays as it is. @returns null when nothing was written */
export async function commitEpoch(
  connection: Statements,
  epoch: number,
  epochSize: number
): Promise<EpochRewrite | null> {
  const blocks = await readEpochBlocks(connection, epoch, epochSize);
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (!first || !last) return null;
  return writeEpoch(connection, {
    epoch,
    startBlock: Number(first.block_index),
    endBlock: Number(last.block_index),
    root: epochRoot(blocks.map(leafHash)),
    leafCount: blocks.length
  });
}

/** Writes a computed epoch, unless it is committed so. @returns null when nothing was written */
export async function writeEpoch(connection: Statements, summary: EpochSummary): Promise<EpochRewrite | null> {
  const { epoch, startBlock, endBlock, root, leafCount } = summary;
  const [before] = await rows<{ merkle_root: string; leaf_count: number }>(
    connection,
    'SELECT merkle_root, leaf_count FROM merkle_epochs WHERE epoch = ?',
    [epoch]
  );
  if (before?.merkle_root === root && Number(before.leaf_count) === leafCount) return null;
  await write(
    connection,
    `INSERT INTO merkle_epochs (epoch, start_block, end_block, merkle_root, leaf_count, created_at)
     VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(6))
     ON DUPLICATE KEY UPDATE start_block = VALUES(start_block), end_block = VALUES(end_block),
       merkle_root = VALUES(merkle_root), leaf_count = VALUES(leaf_count), created_at = VALUES(created_at)`,
    [epoch, startBlock, endBlock, root, leafCount]
  );
  return { epoch, old_root: before?.merkle_root ?? null, new_root: root };
}

/** Removes the committed rows of some epochs. @returns the removed rows, without their new roots */
export async function dropEpochs(connection: Statements, epochs: readonly number[]): Promise<EpochRewrite[]> {
  if (epochs.length === 0) return [];
  const gone = await rows<{ epoch: number; merkle_root: string }>(
    connection,
    'SELECT epoch, merkle_root FROM merkle_epochs WHERE epoch IN (?) ORDER BY epoch',
    [epochs]
  );
  if (gone.length > 0) await write(connection, 'DELETE FROM merkle_epochs WHERE epoch IN (?)', [epochs]);
  return gone.map(({ epoch, merkle_root }) => ({ epoch: Number(epoch), old_root: merkle_root, new_root: null }));
}

/** Reads the full epochs whose committed row is missing or was made from another number of blocks. */
export async function readOpenEpochs(connection: Connection, epochSize: number, tip: number): Promise<number[]> {
  const found = await rows<{ epoch: number }>(
    connection,
    `SELECT recorded.epoch FROM (
       SELECT CEIL(block_index / ?) AS epoch, COUNT(*) AS leaves FROM sync_meta WHERE block_index BETWEEN 1 AND ? GROUP BY 1
     ) recorded LEFT JOIN merkle_epochs USING (epoch)
     WHERE merkle_epochs.epoch IS NULL OR merkle_epochs.leaf_count <> recorded.leaves ORDER BY 1`,
    [epochSize, Math.floor(tip / epochSize) * epochSize]
  );
  return found.map(({ epoch }) => Number(epoch));
}
