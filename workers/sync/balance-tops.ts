import { type BucketBatch, computeTops } from '../../src/consensus/balance-tree.ts';
import { CommitmentHashes } from '../../src/consensus/commitment-hashes.ts';

/** Computes the tops of some buckets of a first tree: some 236 hashes a leaf. */
export default function balanceTops(batch: BucketBatch): BucketBatch {
  computeTops(new CommitmentHashes(batch.domain), batch);
  return batch;
}
