import { epochOf } from '../../../consensus/epoch-tree.ts';
import type { Statements } from '../../../db/connection.ts';
import { type StatementBatch, write } from '../../../db/statement-batch.ts';
import { PlatformError } from '../../../errors.ts';
import { type BlockHashes, hashesOf, sameBlock } from '../../../wire/data/database.ts';
import { type BlockHead, type HeadLayout, readHeadPages } from '../../tables/block-hashes.ts';
import { commitEpoch } from '../../tables/epochs.ts';
import { type LoggedBlock, recordBlocks } from '../../tables/transparency-log.ts';
import type { HeightRun, Span } from './heights.ts';
import type { ReplicaSchema } from './schema.ts';

/** A block by the hashes that its source gives it. */
export interface NamedBlock {
  readonly height: number;
  readonly hashes: BlockHashes;
}

/** The hashes of the block that live blocks follow. */
interface PreviousBlock {
  /** By the source; null where it names no previous hash. */
  readonly namedBefore: BlockHashes | null;
  /** By the marker. */
  readonly kept: BlockHashes | null;
}

/** The written blocks, as their source names them. */
interface WrittenSpan extends Span {
  readonly hashes: BlockHashes;
  /** Live blocks: the block before them. Absent: it is not compared. */
  readonly previous?: PreviousBlock;
}

/**
 * Checks that the stored blocks have no gap and are those that the source named. They become the transparency log.
 *
 * @throws {PlatformError} SOURCE_INVALID; CHAIN_BROKEN when live blocks do not follow the stored block before them
 */
export async function checkBlocks(
  connection: StatementBatch,
  schema: ReplicaSchema,
  { first, last, hashes, previous }: WrittenSpan,
  named: readonly NamedBlock[],
  epochSize: number
): Promise<BlockHead> {
  if (schema.only) return { height: last, blockTime: null, hashes, commitments: null };
  if (!schema.heads) throw new PlatformError('DATABASE_UNUSABLE', { reason: 'the replica has no table blocks' });
  const { dbType } = schema.heads;
  const namedAt = new Map(named.map(({ height, hashes }) => [height, hashes]));
  let tip: BlockHead | undefined;
  const start = previous === undefined ? first : first - 1;
  for await (const { from: begin, to, heads: found } of readHeadPages(connection.patient, schema.heads, start, last)) {
    const from = Math.max(begin, first);
    const heads = found.filter(({ height }) => height >= first);
    if (begin < first) checkContinuity(found, first, previous!);
    for (const [index, head] of heads.entries()) {
      if (head.height !== from + index) throw badBlock(from + index, 'is missing');
      const given = namedAt.get(head.height);
      if (given && !sameBlock(hashesOf(dbType, given), head.hashes))
        throw badBlock(head.height, 'has other hashes than its rows');
    }
    if (heads.length !== to - from + 1) throw badBlock(from + heads.length, 'is missing');
    if (dbType === 'indexer') await logBlocks(connection, heads as readonly LoggedBlock[], epochSize);
    tip = heads.at(-1);
  }
  return tip!;
}

/**
 * Checks that the stored block below is the one that the marker and the source name. Where the source's message names none, the new
 * block's own row names its parent.
 */
function checkContinuity(heads: readonly BlockHead[], first: number, { namedBefore, kept }: PreviousBlock): void {
  const [stored, next] = [first - 1, first].map((height) => heads.find((head) => head.height === height));
  const parent = next?.parent == null ? null : { block_hash: next.parent };
  const named = [kept, namedBefore ?? parent].filter((hashes) => hashes !== null);
  if (named.every((hashes) => stored && sameBlock(stored.hashes, hashes))) return;
  const reason = `hash chain discontinuity at block ${first}`;
  throw new PlatformError('CHAIN_BROKEN', { reason, block: first });
}

function badBlock(height: number, what: string): PlatformError {
  return new PlatformError('SOURCE_INVALID', { reason: `block ${height} of the source ${what}`, block: height });
}

/** Records blocks in the replica's transparency log, and commits the epochs that end in them. */
export async function logBlocks(
  connection: Statements,
  heads: readonly LoggedBlock[],
  epochSize: number
): Promise<void> {
  await recordBlocks(connection, heads);
  for (const { height } of heads) {
    if (height > 0 && height % epochSize === 0) await commitEpoch(connection, epochOf(height, epochSize), epochSize);
  }
}

/**
 * Rewrites the log of older blocks from the replica's own, and commits their epochs as far as they are full.
 *
 * @param runs negative heights are none
 * @param height the replica's
 */
export async function logAnew(
  connection: Statements,
  layout: HeadLayout,
  runs: readonly HeightRun[],
  height: number,
  epochSize: number
): Promise<void> {
  const epochs = new Set<number>();
  for (const { from, to } of runs) {
    await write(
      connection,
      'DELETE FROM sync_meta WHERE block_index BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM blocks WHERE blocks.block_index = sync_meta.block_index)',
      [Math.max(0, from), to]
    );
    for await (const { heads } of readHeadPages(connection, layout, Math.max(0, from), to)) {
      await recordBlocks(connection, heads as readonly LoggedBlock[]);
      for (const head of heads) epochs.add(epochOf(head.height, epochSize));
    }
  }
  for (const epoch of epochs) {
    if (epoch > 0 && epoch * epochSize <= height) await commitEpoch(connection, epoch, epochSize);
  }
}
