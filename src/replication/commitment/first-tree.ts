import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../../../actors/runtime/thread/until-aborted.ts';
import type { ChainNames } from '../../consensus/balance-leaf.ts';
import { BalanceTree, type BucketBatch } from '../../consensus/balance-tree.ts';
import type { CommitmentHashes } from '../../consensus/commitment-hashes.ts';
import { type Connection, rows } from '../../db/connection.ts';
import { hasCode } from '../../errors.ts';
import { readLeafPages } from '../tables/state-reader.ts';

/** Leaves of one task of the pool: some 200 ms. */
const BATCH_LEAVES = 2_000;
/** One core is left to the blocks: their delivery must not wait for a tree. */
const LANES = Math.max(1, Math.min(4, availableParallelism() - 1));
const BUSY_PAUSE_MS = 500;
const LONGEST_REST_MS = 2_000;
/** Rows are read by the thread that blocks are carried out on, and the same server writes them: they wait for both. */
const REST_OF_READING = 3;

interface FirstTreeOptions {
  readonly hashes: CommitmentHashes;
  readonly names: ChainNames;
  /** Computes a batch's tops on the task pool. */
  readonly computeTops: (batch: BucketBatch) => Promise<BucketBatch>;
  /** Called with the percentage of the leaves that are hashed. */
  readonly onProgress: (percent: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes the tree of every balance that a snapshot holds.
 *
 * @param connection in a consistent snapshot; closed when its rows are read
 * @throws {PlatformError} STATE_UNENCODABLE
 */
export async function makeFirstTree(connection: Connection, options: FirstTreeOptions): Promise<BalanceTree> {
  const { hashes, names, onProgress, signal } = options;
  const [row] = await rows(connection, 'SELECT COUNT(*) AS n FROM balances');
  const tree = new BalanceTree(hashes, Number(row?.['n']));
  let began = performance.now();
  for await (const page of readLeafPages(connection, hashes, names)) {
    signal.throwIfAborted();
    tree.load(page);
    began = await rest(began, signal, REST_OF_READING);
  }
  connection.destroy();
  let done = 0;
  const batches = tree.batches(BATCH_LEAVES);
  const lane = async () => {
    let since = performance.now();
    for (const { from, batch } of batches) {
      const hashed = await onPool(batch, options);
      tree.finish(from, hashed);
      free(hashed.records);
      since = await rest(since, signal);
      done += batch.counts.reduce((sum, leaves) => sum + leaves, 0);
      onProgress(Math.floor((100 * done) / Math.max(1, tree.size)));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return tree;
}

/** Rests after a piece of work, for so many times as long as it took: blocks go first. @returns when the next piece begins */
async function rest(began: number, signal: AbortSignal, times = 1): Promise<number> {
  await sleep(Math.min(LONGEST_REST_MS, times * (performance.now() - began)), undefined, { signal });
  return performance.now();
}

/** Frees memory at once: left to the garbage collector, tens of megabytes of such copies would wait for it. */
function free({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

async function onPool(batch: BucketBatch, { computeTops, signal }: FirstTreeOptions): Promise<BucketBatch> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await untilAborted(computeTops(batch), signal);
    } catch (caught) {
      if (!hasCode(caught, 'TASKS_BUSY')) throw caught;
      await sleep(BUSY_PAUSE_MS, undefined, { signal });
    }
  }
}
