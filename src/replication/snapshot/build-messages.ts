import type { MessagePort } from 'node:worker_threads';
import type { BlockHashes } from '../../wire/data/database.ts';
import type { MissedChanges, SnapshotCoding, SnapshotOrder } from '../../wire/data/snapshot.ts';
import type { SnapshotChecksums } from '../source/reading/snapshot-checksums.ts';
import type { ArtifactHeaders } from './artifact.ts';

/** The input of the task `sync/build-snapshot`. */
export interface BuildInput {
  readonly order: SnapshotOrder;
  readonly coding: SnapshotCoding;
  /** The file to write; it must not exist. */
  readonly path: string;
  readonly buildId: string;
  /** Time limit of each statement of the build, enforced by the database. */
  readonly budgetMs: number;
  /** The port for progress and what is said of it. */
  readonly progress: MessagePort;
}

/**
 * `asks` what the reader has missed, once at most and first of all, which is answered by `missed`;
 * `opened` once, when the snapshot is open and headers are known; then `grew` whenever more bytes are in the file; at last
 * `written`, when they are all there and the snapshot is still open.
 */
export type BuildProgress =
  | { readonly type: 'asks'; readonly head: SnapshotHead }
  | { readonly type: 'opened'; readonly headers: ArtifactHeaders }
  | { readonly type: 'grew'; readonly sizeBytes: number }
  | ({ readonly type: 'written' } & WrittenBody);

/** The block that a snapshot is at. */
export interface SnapshotHead {
  readonly height: number;
  readonly hashes: BlockHashes;
}

/** Message from the main thread to a build: the answer to `asks`, null if it is not known; or the order to end. */
export type BuildOrder = { readonly type: 'missed'; readonly missed: MissedChanges | null } | { readonly type: 'stop' };

export interface WrittenBody {
  readonly sizeBytes: number;
  /** The block whose whole state readers have; null where they have a part. */
  readonly settledAt: number | null;
}

export interface BuildResult {
  /** As in `written`, which may arrive later than this. */
  readonly written: WrittenBody;
  /** The state from which a reader continues; null where the snapshot does not hold all of its block's state. */
  readonly checksums: SnapshotChecksums | null;
}
