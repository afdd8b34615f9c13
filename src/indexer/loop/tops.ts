import { TaskPool } from '../../../actors/runtime/task-pool.ts';
import type { SyncTasks } from '../../../workers/sync/tasks.ts';
import { type BucketBatch, computeTops } from '../../consensus/balance-tree.ts';
import { CommitmentHashes } from '../../consensus/commitment-hashes.ts';

/** Leaves up to which hashing takes less time than the start of a thread. */
const LEAVES_AT_ONCE = 256;
/**
 * Size of the young generation of the thread. A batch is in buffers, and other memory of the hashing is free at once.
 */
const YOUNG_GENERATION_MB = 6;

/** Hashes the leaves of a first tree, in a thread that ends with that work. */
export class TopsPool {
  readonly #hashes: CommitmentHashes;
  #pool: TaskPool<Pick<SyncTasks, 'sync/balance-tops'>> | null = null;

  /** @param domain COMMITMENT_DOMAIN */
  constructor(domain: string) {
    this.#hashes = new CommitmentHashes(domain);
  }

  async compute(batch: BucketBatch): Promise<BucketBatch> {
    if (batch.counts.reduce((sum, leaves) => sum + leaves, 0) <= LEAVES_AT_ONCE) {
      computeTops(this.#hashes, batch);
      return batch;
    }
    this.#pool ??= new TaskPool({ maxThreads: 1, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } });
    const { buffer } = batch.records;
    return await this.#pool.run(
      'sync/balance-tops',
      batch,
      buffer instanceof ArrayBuffer ? { transfer: [buffer] } : {}
    );
  }

  /** Ends the thread. New work starts another. */
  async release(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    await pool?.close();
  }
}
