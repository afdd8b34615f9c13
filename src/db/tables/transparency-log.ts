import {
  epochOf,
  epochRoot,
  inclusionProof,
  type LeafHashes,
  leafHash,
  verifyProof
} from '../../consensus/epoch-tree.ts';
import { PlatformError } from '../../errors.ts';
import type {
  EpochPage,
  EpochRoot,
  InclusionProofRecord,
  NoEpoch,
  OpenEpoch,
  TransparencyPage
} from '../../wire/transparency.ts';
import { type Connection, rows, type SqlRow } from '../core/connection.ts';
import { type Statements, write } from '../core/statement-batch.ts';
import { type BlockHead, type HeadLayout, readBlockHeads } from './block-hashes.ts';

/** What the control tables are made of where they are missing. */
const CONTROL_TABLES: Readonly<Record<string, string>> = {
  sync_meta: `CREATE TABLE IF NOT EXISTS sync_meta (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, block_index INT UNSIGNED NOT NULL, block_time INT UNSIGNED NULL,
    ledger_hash VARCHAR(250) NULL, actions_hash VARCHAR(250) NULL, contract_hash VARCHAR(250) NULL,
    logged_at DATETIME(6) NOT NULL, UNIQUE KEY block_index (block_index)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`,
  merkle_epochs: `CREATE TABLE IF NOT EXISTS merkle_epochs (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, epoch INT UNSIGNED NOT NULL, start_block INT UNSIGNED NOT NULL,
    end_block INT UNSIGNED NOT NULL, merkle_root CHAR(64) NOT NULL, leaf_count INT UNSIGNED NOT NULL,
    created_at DATETIME(6) NOT NULL, UNIQUE KEY epoch (epoch)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`,
  sync_halt: `CREATE TABLE IF NOT EXISTS sync_halt (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY, block_index BIGINT NULL, reason VARCHAR(255) NOT NULL, mismatches LONGTEXT NULL,
    sources LONGTEXT NULL, detected_at VARCHAR(32) NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`
};

/** One change of an epoch's committed root; null: there was or is none. */
export interface EpochRewrite {
  readonly epoch: number;
  readonly old_root: string | null;
  readonly new_root: string | null;
}

/** Which of the control tables are missing. */
export async function missingControlTables(connection: Connection): Promise<string[]> {
  const found = await rows<{ TABLE_NAME: string }>(
    connection,
    'SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (?)',
    [Object.keys(CONTROL_TABLES)]
  );
  const there = new Set(found.map((row) => row.TABLE_NAME));
  return Object.keys(CONTROL_TABLES).filter((name) => !there.has(name));
}

/** Makes the control tables that are missing; where all are there, nothing is written. */
export async function createControlTables(connection: Connection): Promise<void> {
  for (const name of await missingControlTables(connection)) await connection.query(CONTROL_TABLES[name]!);
}

/** The part of a block that is recorded. */
export type LoggedBlock = Pick<BlockHead, 'height' | 'blockTime'> & { readonly hashes: LeafHashes };

/** What was broadcast of a block. */
export type BroadcastBlock = Pick<LoggedBlock, 'height' | 'hashes'>;

/**
 * Records blocks; one that is recorded with the same hashes stays as it is, its time of logging included.
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

/** One epoch's recorded blocks in ascending height. */
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
export interface EpochSummary {
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

/** Removes the committed rows of some epochs. @returns those that there were, without their new roots */
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

/** A block that the log does not tell of, or not as it is. */
export interface UnrecordedBlock extends LoggedBlock {
  /** Only its time is another: its leaf stays. */
  readonly sameLeaf: boolean;
}

/** Blocks up to a height that are not recorded, or recorded with other hashes or another time, ascending from `from`. */
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
 * Recorded blocks of some heights, ascending, whose row has another time by now under the same hashes.
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

/** What the log says of a block. */
interface RecordedBlock extends LeafHashes {
  readonly block_time: number | null;
}

/** What the log says of blocks, by height. */
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

/** True where every hash that was broadcast is there: of a block that was only being written one may be missing. */
export function tells(hashes: LeafHashes, broadcast: LeafHashes): boolean {
  const names = ['ledger_hash', 'actions_hash', 'contract_hash'] as const;
  return names.every((name) => broadcast[name] === null || hashes[name] === broadcast[name]);
}

/**
 * Where the log is not what blocks follow on: an attempt that failed may have left it with blocks of a branch that nobody was told
 * of, or without those of one that came back.
 *
 * @param recent the blocks below them, oldest first
 * @returns the lowest height from which on it is to be written anew; null: it goes on as it is
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

/** The highest recorded block; -1 where there is none. */
export async function readLoggedHeight(connection: Connection): Promise<number> {
  const [row] = await rows<{ height: number | null }>(connection, 'SELECT MAX(block_index) AS height FROM sync_meta');
  return Number(row?.height ?? -1);
}

/** Full epochs whose committed row is missing or was made from another number of blocks. */
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

/** One page of the log, newest first. */
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

/** One page of the committed epochs, newest first. */
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

/** The latest committed epoch. */
export async function readLatestEpoch(connection: Connection): Promise<EpochRoot | NoEpoch> {
  const { results } = await readEpochs(connection, 0, 1);
  return results[0] ?? { epoch: null, merkle_root: null };
}

/** A block's way to its epoch's committed root. @throws {PlatformError} LEAF_UNKNOWN when the block is not recorded */
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

/** MariaDB's UTC text as ISO 8601. */
export function isoTime(text: string): string {
  return `${text.replace(' ', 'T')}Z`;
}
