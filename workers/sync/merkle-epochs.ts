import { epochRoot, type LeafHashes, leafHash } from '../../src/consensus/epoch-tree.ts';

/** Epochs to compute: each one's blocks in ascending height. */
interface MerkleEpochsInput {
  readonly epochs: readonly { readonly epoch: number; readonly blocks: readonly LeafHashes[] }[];
}

/** Roots of the epochs, in the order given. */
type MerkleEpochsOutput = readonly { readonly epoch: number; readonly root: string }[];

/** Computes the roots of a batch of epochs: one hand-over for many, because it costs as much as a third of an epoch. */
export default function merkleEpochs({ epochs }: MerkleEpochsInput): MerkleEpochsOutput {
  return epochs.map(({ epoch, blocks }) => ({ epoch, root: epochRoot(blocks.map(leafHash)) }));
}
