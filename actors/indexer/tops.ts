import { type BucketBatch, computeTops } from '../../src/consensus/balance-tree.ts';
import { CommitmentHashes } from '../../src/consensus/commitment-hashes.ts';
import type { SyncTasks } from '../../workers/sync/tasks.ts';
import { TaskPool } from '../runtime/task-pool.ts';

/** Hashing so many leaves takes less than starting a thread for them. */
const LEAVES_AT_ONCE = 256;
/** A batch is in buffers; what hashing allocates beside them is gone at once. */
const YOUNG_GENERATION_MB = 6;

/** Hashes the leaves of a first tree in a thread that is there for as long as that takes. */
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

  /** Ends the thread; another is started when there is work again. */
  async release(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    await pool?.close();
  }
}
