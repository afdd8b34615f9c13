import type { MessagePort } from 'node:worker_threads';
import type { SnapshotChecksums } from '../../db/source/snapshot-checksums.ts';
import type { SnapshotCoding, SnapshotOrder } from '../../wire/snapshot.ts';
import type { ArtifactHeaders } from './artifact.ts';

/** What the task `sync/build-snapshot` is started with. */
export interface BuildInput {
  readonly order: SnapshotOrder;
  readonly coding: SnapshotCoding;
  /** The file to write; it must not exist. */
  readonly path: string;
  readonly buildId: string;
  /** No statement of the build runs longer at the database, whatever becomes of this process. */
  readonly budgetMs: number;
  /** Where progress is told. */
  readonly progress: MessagePort;
}

/**
 * `opened` once, when the snapshot is open and headers are known; then `grew` whenever more bytes are in the file; at last
 * `written`, when they are all there and the snapshot is still open.
 */
export type BuildProgress =
  | { readonly type: 'opened'; readonly headers: ArtifactHeaders }
  | { readonly type: 'grew'; readonly sizeBytes: number }
  | ({ readonly type: 'written' } & WrittenBody);

export interface WrittenBody {
  readonly sizeBytes: number;
  /** The block of which readers have all of the state; null where they do not. */
  readonly settledAt: number | null;
}

export interface BuildResult {
  /** As told by `written`, which may come later than this. */
  readonly written: WrittenBody;
  /** What a reader stands on who goes on from here; null where the snapshot does not hold all of its block's state. */
  readonly standing: SnapshotChecksums | null;
}
