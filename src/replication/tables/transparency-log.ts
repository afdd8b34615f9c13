import { type LeafHashes, leafHash } from '../../consensus/epoch-tree.ts';
import { type Connection, rows, type SqlRow, type Statements } from '../../db/connection.ts';
import { write } from '../../db/statement-batch.ts';
import { type BlockHead, type HeadLayout, readBlockHeads } from './block-hashes.ts';
import type { EpochRewrite } from './epochs.ts';

/** The part of a block that is recorded. */
export type LoggedBlock = Pick<BlockHead, 'height' | 'blockTime'> & { readonly hashes: LeafHashes };

/** The part of a block that was broadcast. */
export type BroadcastBlock = Pick<LoggedBlock, 'height' | 'hashes'>;

/**
 * Records blocks. A block already recorded with the same hashes keeps its row and its time of logging.
 *
 * @param blocks at most some thousand
 */
export async function recordBlocks(connection: Statements, blocks: readonly LoggedBlock[]): Promise<void> {
  if (blocks.length === 0) return;
  const values = blocks.map(({ height, blockTime, hashes }) => [
    height,
    blockTime,
    hashes.ledger_hash,
    hashes.actions_hash,
    hashes.contract_hash
  ]);
  await write(
    connection,
    `INSERT INTO sync_meta (block_index, block_time, ledger_hash, actions_hash, contract_hash, logged_at)
     VALUES ${values.map(() => '(?, UTC_TIMESTAMP(6))').join(', ')}
     ON DUPLICATE KEY UPDATE
       logged_at = IF(ledger_hash <=> VALUES(ledger_hash) AND actions_hash <=> VALUES(actions_hash)
         AND contract_hash <=> VALUES(contract_hash), logged_at, VALUES(logged_at)),
       block_time = VALUES(block_time), ledger_hash = VALUES(ledger_hash), actions_hash = VALUES(actions_hash),
       contract_hash = VALUES(contract_hash)`,
    values
  );
}

/** Removes the orphaned blocks and the epochs that hold any. @returns the epochs that were committed, without their new roots */
export async function pruneFrom(connection: Statements, fork: number): Promise<EpochRewrite[]> {
  const gone = await rows<{ epoch: number; merkle_root: string }>(
    connection,
    'SELECT epoch, merkle_root FROM merkle_epochs WHERE end_block >= ? ORDER BY epoch',
    [fork]
  );
  await write(connection, 'DELETE FROM sync_meta WHERE block_index >= ?', [fork]);
  await write(connection, 'DELETE FROM merkle_epochs WHERE end_block >= ?', [fork]);
  return gone.map(({ epoch, merkle_root }) => ({ epoch: Number(epoch), old_root: merkle_root, new_root: null }));
}

/** A block that the log does not tell of, or not as it is. */
export interface UnrecordedBlock extends LoggedBlock {
  /** Only its time is another: its leaf stays. */
  readonly sameLeaf: boolean;
}

/** Reads the blocks up to a height that are not recorded, or recorded with other hashes or another time, ascending from `from`. */
export async function readUnrecorded(
  connection: Connection,
  layout: HeadLayout,
  from: number,
  to: number
): Promise<UnrecordedBlock[]> {
  const heads = (await readBlockHeads(connection, layout, from, to)) as readonly (BlockHead & LoggedBlock)[];
  const recorded = await readRecorded(connection, from, to);
  return heads.flatMap((head) => {
    const known = recorded.get(head.height);
    const sameLeaf = known !== undefined && leafHash(known) === leafHash(head.hashes);
    return sameLeaf && known.block_time === head.blockTime ? [] : [{ ...head, sameLeaf }];
  });
}

/** Blocks that `readRetimed` looks at in one go. */
const RETIMED_BLOCKS = 2_000;

/**
 * Reads the recorded blocks of some heights, ascending, whose row has another time by now under the same hashes.
 *
 * @returns the lowest one and those shortly above it; empty: there is none
 */
export async function readRetimed(
  connection: Connection,
  layout: HeadLayout,
  from: number,
  to: number
): Promise<readonly LoggedBlock[]> {
  const [lowest] = await rows<{ height: number | null }>(
    connection,
    `SELECT MIN(head.height) AS height FROM (SELECT ${layout.select} FROM ${layout.from} WHERE b.block_index BETWEEN ? AND ?) head
     JOIN sync_meta ON sync_meta.block_index = head.height WHERE NOT (sync_meta.block_time <=> head.block_time)`,
    [from, to]
  );
  if (lowest?.height == null) return [];
  const first = Number(lowest.height);
  const found = await readUnrecorded(connection, layout, first, Math.min(to, first + RETIMED_BLOCKS - 1));
  return found.filter(({ sameLeaf }) => sameLeaf);
}

/** A block as the log records it. */
interface RecordedBlock extends LeafHashes {
  readonly block_time: number | null;
}

/** Returns the log's blocks, by height. */
async function readRecorded(
  connection: Connection,
  from: number,
  to: number
): Promise<ReadonlyMap<number, RecordedBlock>> {
  const recorded = await rows<RecordedBlock & { block_index: number } & SqlRow>(
    connection,
    'SELECT block_index, block_time, ledger_hash, actions_hash, contract_hash FROM sync_meta WHERE block_index BETWEEN ? AND ?',
    [from, to]
  );
  const time = ({ block_time }: RecordedBlock) => (block_time === null ? null : Number(block_time));
  return new Map(recorded.map((row) => [Number(row.block_index), { ...row, block_time: time(row) }]));
}

/** Returns whether every hash that was broadcast is there: of a block that was only being written one may be missing. */
export function tells(hashes: LeafHashes, broadcast: LeafHashes): boolean {
  const names = ['ledger_hash', 'actions_hash', 'contract_hash'] as const;
  return names.every((name) => broadcast[name] === null || hashes[name] === broadcast[name]);
}

/**
 * Finds the first break of the log. A failed attempt may have left blocks of a branch that was never broadcast, or may lack those
 * of one that came back.
 *
 * @param recent the blocks below them, oldest first
 * @returns the lowest height from which it must be rewritten; null: it is right
 */
export async function findBreak(
  connection: Connection,
  blocks: readonly LoggedBlock[],
  recent: readonly BroadcastBlock[]
): Promise<number | null> {
  const before = recent.at(-1);
  const recorded = await readRecorded(connection, (before ?? blocks[0]!).height, blocks.at(-1)!.height);
  const isThere = ({ height, hashes }: BroadcastBlock, log = recorded) =>
    log.has(height) && tells(log.get(height)!, hashes);
  if (before && !isThere(before)) {
    const below = await readRecorded(connection, recent[0]!.height, before.height);
    return recent.find((block) => !isThere(block, below))!.height;
  }
  const other = blocks.find(
    ({ height, hashes }) => recorded.has(height) && leafHash(recorded.get(height)!) !== leafHash(hashes)
  );
  return other?.height ?? null;
}

/** Reads the highest recorded block; -1 where there is none. */
export async function readLoggedHeight(connection: Connection): Promise<number> {
  const [row] = await rows<{ height: number | null }>(connection, 'SELECT MAX(block_index) AS height FROM sync_meta');
  return Number(row?.height ?? -1);
}
