import type { Halt } from './report.ts';

interface HaltKind {
  /** What was found, in a clause. */
  readonly meaning: string;
  /** What its operator does. */
  readonly remedy: string;
}

/** Why a replica halts for good. All are durable, and whoever has the operator's key clears them. */
export const HALTS = {
  'max-rollback-depth-exceeded': {
    meaning: "the source's chain leaves the replica's more than MAX_ROLLBACK_DEPTH blocks below its tip",
    remedy: 'look whether that source is on the right chain; if it is, clear the halt, and the replica is loaded anew'
  },
  'hash-mismatch': {
    meaning: 'the sources name different blocks, and none of them has a majority',
    remedy: 'find out which sources are right, take the others out of SYNC_SOURCES, and clear the halt'
  },
  'state-root-mismatch': {
    meaning: 'a root that the replica computed from its own rows is not the one that its source names',
    remedy: 'compare the replica with a source that you trust (platform-node verify), then clear the halt'
  },
  'checkpoint-mismatch': {
    meaning: 'a block of the replica is not the one that a quorum of validators signed',
    remedy:
      'look whether the source follows the chain of the quorum; load the replica anew from one that does, then clear the halt'
  },
  'digest-mismatch': {
    meaning: 'rows that were just repaired differ again, though the source says the same of them',
    remedy:
      'look for another program that writes to the replica, or a source that contradicts itself, then clear the halt'
  }
} as const satisfies Record<string, HaltKind>;

export type HaltReason = keyof typeof HALTS;

/** What a halt's operator does; of one that another program recorded nothing is known. */
export function remedyOf({ reason }: Pick<Halt, 'reason'>): string {
  const kind: HaltKind | undefined = Object.hasOwn(HALTS, reason) ? HALTS[reason as HaltReason] : undefined;
  return kind?.remedy ?? 'another program recorded it: find out why, then clear the halt';
}

/** A halt that begins now. */
export function haltOf(
  reason: HaltReason,
  found: Pick<Halt, 'block_index' | 'mismatches' | 'sources'>
): Halt & { readonly reason: HaltReason } {
  return { ...found, reason, detected_at: new Date().toISOString() };
}
