import { type LeafHashes, leafHash, verifyProof } from '../consensus/epoch-tree.ts';
import { isQuorum, type PinnedValidator, signedWeight } from '../consensus/quorum.ts';
import type { Checkpoint } from '../wire/log/checkpoint.ts';
import type { InclusionProofRecord } from '../wire/log/transparency.ts';

/**
 * Returns whether a block with these hashes is in the epoch whose root the caller knows from elsewhere, by the proof of
 * `GET /transparency/.../proof/:block_index`.
 */
export function verifyBlock(hashes: LeafHashes, { proof }: Pick<InclusionProofRecord, 'proof'>, root: string): boolean {
  return verifyProof(leafHash(hashes), proof, root);
}

/** Returns whether more than two thirds of the weight of these validators signed a checkpoint of `GET /checkpoint/...`. */
export function verifyCheckpoint(checkpoint: Checkpoint, validators: readonly PinnedValidator[]): boolean {
  const { validator_signatures: signatures, ...record } = checkpoint;
  return isQuorum(signedWeight(record, signatures, validators));
}
