import { epochOf, inclusionProof, leafHash, verifyProof } from '../../consensus/epoch-tree.ts';
import { type Connection, rows } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type {
  EpochPage,
  EpochRoot,
  InclusionProofRecord,
  NoEpoch,
  OpenEpoch,
  TransparencyPage
} from '../../wire/log/transparency.ts';
import { readEpochBlocks } from './epochs.ts';

/** Reads one page of the log, newest first. */
export async function readRoots(connection: Connection, page: number, limit: number): Promise<TransparencyPage> {
  const [count] = await rows<{ total: number }>(connection, 'SELECT COUNT(*) AS total FROM sync_meta');
  const found = await rows<Omit<TransparencyPage['results'][number], 'logged_at'> & { logged_at: string }>(
    connection,
    `SELECT block_index, block_time, ledger_hash, actions_hash, contract_hash, logged_at FROM sync_meta
     ORDER BY block_index DESC LIMIT ? OFFSET ?`,
    [limit, page * limit]
  );
  const results = found.map((row) => ({ ...row, logged_at: isoTime(row.logged_at) }));
  return { page, limit, total: Number(count?.total ?? 0), results };
}

/** Reads one page of the committed epochs, newest first. */
export async function readEpochs(connection: Connection, page: number, limit: number): Promise<EpochPage> {
  const [count] = await rows<{ total: number }>(connection, 'SELECT COUNT(*) AS total FROM merkle_epochs');
  const found = await rows<EpochRoot & Record<string, unknown>>(
    connection,
    `SELECT id, epoch, start_block, end_block, merkle_root, leaf_count, created_at FROM merkle_epochs
     ORDER BY epoch DESC LIMIT ? OFFSET ?`,
    [limit, page * limit]
  );
  const results = found.map((row) => ({ ...row, created_at: isoTime(row.created_at) }));
  return { page, limit, total: Number(count?.total ?? 0), results };
}

/** Reads the latest committed epoch. */
export async function readLatestEpoch(connection: Connection): Promise<EpochRoot | NoEpoch> {
  const { results } = await readEpochs(connection, 0, 1);
  return results[0] ?? { epoch: null, merkle_root: null };
}

/** Returns a block's way to its epoch's committed root. @throws {PlatformError} LEAF_UNKNOWN when the block is not recorded */
export async function readProof(
  connection: Connection,
  height: number,
  epochSize: number
): Promise<InclusionProofRecord | OpenEpoch> {
  const epoch = epochOf(height, epochSize);
  const blocks = await readEpochBlocks(connection, epoch, epochSize);
  const index = blocks.findIndex(({ block_index }) => Number(block_index) === height);
  if (index < 0) throw new PlatformError('LEAF_UNKNOWN', { reason: `block ${height} is not recorded` });
  const [committed] = await rows<{ merkle_root: string }>(
    connection,
    'SELECT merkle_root FROM merkle_epochs WHERE epoch = ?',
    [epoch]
  );
  if (!committed) return { error: 'epoch not yet committed' };
  const leaves = blocks.map(leafHash);
  const proof = inclusionProof(leaves, index);
  const leaf = leaves[index]!;
  const merkleRoot = committed.merkle_root;
  return { blockIndex: height, epoch, leaf, merkleRoot, proof, verified: verifyProof(leaf, proof, merkleRoot) };
}

/** Returns MariaDB's UTC text as ISO 8601. */
export function isoTime(text: string): string {
  return `${text.replace(' ', 'T')}Z`;
}
