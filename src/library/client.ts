/** The module `platform-node/client`: follows a sync server and verifies what it says. Node 22 or later. */
export type { LeafHashes, ProofStep } from '../consensus/epoch-tree.ts';
export type { PinnedValidator } from '../consensus/quorum.ts';
export type { BlockHashes, DatabaseId } from '../wire/data/database.ts';
export type {
  AmendmentMessage,
  BlockMessage,
  ReorgMessage,
  ServerMessage,
  SettledMessage,
  StatusMessage
} from '../wire/data/messages.ts';
export type { SnapshotBody } from '../wire/data/snapshot.ts';
export type { Catalog } from '../wire/log/catalog.ts';
export type { Checkpoint } from '../wire/log/checkpoint.ts';
export type { EpochPage, EpochRoot, InclusionProofRecord, TransparencyPage } from '../wire/log/transparency.ts';
export type { DatabaseStatus } from '../wire/state/status.ts';
export type { TimelineEntry } from '../wire/state/timeline.ts';
export { type Followed, type FollowedBlock, type FollowOptions, FollowRefused, follow } from './follow.ts';
export { verifyBlock, verifyCheckpoint } from './proofs.ts';
