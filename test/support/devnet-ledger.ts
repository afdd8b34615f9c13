import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../src/devnet/random.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { newAddress } from './ledger/invent.ts';
import { type LedgerBlock, LedgerWriter } from './ledger/writer.ts';

/** Rows that one invented transaction leaves, on average, over all tables. */
const ROWS_PER_TRANSACTION = 6;
const TRANSACTIONS_PER_LIVE_BLOCK = 8;
const BLOCKS_PER_COMMIT = 50;
const FIRST_HEIGHT = 100;
const GENESIS_TIME = 1_700_000_000;

export interface GeneratedSize {
  readonly seed: string;
  readonly blocks: number;
  /** Rows over all tables, roughly. */
  readonly rows: number;
}

/** Fills a database with an indexer's tables, blocks 100 to 99 + `blocks`. */
export async function createIndexer(to: DatabaseCoordinates, { seed, blocks, rows }: GeneratedSize): Promise<void> {
  const size = Math.max(1, Math.round(rows / blocks / ROWS_PER_TRANSACTION));
  await withWriter(to, seed, async (writer) => {
    for (let done = 0; done < blocks; done += BLOCKS_PER_COMMIT) {
      const count = Math.min(BLOCKS_PER_COMMIT, blocks - done);
      await writer.writeBlocks(inventBlocks(seed, FIRST_HEIGHT + done, count, size));
    }
  });
}

/** Adds blocks, each in a database transaction of its own, with a pause after each. @returns the new height */
export async function appendBlocks(to: DatabaseCoordinates, count: number, seed: string, pauseMs = 0): Promise<number> {
  return await withWriter(to, seed, async (writer) => {
    const next = await nextHeight(writer);
    for (const block of inventBlocks(seed, next, count, TRANSACTIONS_PER_LIVE_BLOCK)) {
      await writer.writeBlocks([block]);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  });
}

/** Adds blocks in one database transaction, so that a poll sees them all at once. @returns the new height */
export async function appendBacklog(to: DatabaseCoordinates, count: number, seed: string): Promise<number> {
  return await withWriter(to, seed, async (writer) => {
    await writer.writeBlocks(inventBlocks(seed, await nextHeight(writer), count, TRANSACTIONS_PER_LIVE_BLOCK));
  });
}

/**
 * Takes back the newest `depth` blocks and adds `count` others, each step committed by itself.
 *
 * @returns the new height
 */
export async function reorg(to: DatabaseCoordinates, depth: number, count: number, seed: string): Promise<number> {
  return await withWriter(to, seed, async (writer) => {
    const fork = (await nextHeight(writer)) - depth;
    await writer.rollback(fork);
    const branch = `${seed}:branch at ${fork}`;
    for (const block of inventBlocks(branch, fork, count, TRANSACTIONS_PER_LIVE_BLOCK))
      await writer.writeBlocks([block]);
  });
}

async function withWriter(
  to: DatabaseCoordinates,
  seed: string,
  work: (writer: LedgerWriter) => Promise<void>
): Promise<number> {
  const writer = await LedgerWriter.open(to, seed);
  try {
    await work(writer);
    return (await nextHeight(writer)) - 1;
  } finally {
    await writer.close();
  }
}

async function nextHeight(writer: LedgerWriter): Promise<number> {
  return ((await writer.height()) ?? FIRST_HEIGHT - 1) + 1;
}

function inventBlocks(seed: string, first: number, count: number, size: number): LedgerBlock[] {
  return Array.from({ length: count }, (_, index) => inventBlock(seed, first + index, size));
}

/**
 * Some blocks are empty, some twice as large; half of the sources act again and again.
 *
 * An empty height is so on every branch: its ledger hashes are the same there, its time and what no action names are not.
 */
function inventBlock(seed: string, height: number, size: number): LedgerBlock {
  const random = createRandom(`block ${seed}:${height}`);
  const hash = sha256(`${seed}:${height}:${random.next()}`);
  const isEmpty = createRandom(`empty ${height}`).between(1, 8) === 1;
  const count = isEmpty ? 0 : random.between(Math.ceil(size / 2), size + Math.ceil(size / 2));
  const regulars = createRandom('regular addresses');
  const addresses = Array.from({ length: 40 }, () => newAddress(regulars));
  return {
    height,
    time: GENESIS_TIME + height * 150 + random.between(0, 99),
    hash,
    transactions: Array.from({ length: count }, (_, index) => ({
      hash: sha256(`${hash}:${index}`),
      source: random.between(0, 1) ? addresses[random.between(0, 39)]! : newAddress(random),
      fee: random.between(1, 5) === 1 ? null : random.between(100, 100_000),
      data: null
    }))
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
