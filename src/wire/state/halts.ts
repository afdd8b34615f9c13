import type { Halt } from './report.ts';

interface HaltKind {
  /** Clause that says what was found. */
  readonly meaning: string;
  /** Action for the operator. */
  readonly remedy: string;
}

/** The reasons for which a replica halts. A halt is durable; an operator clears it. */
export const HALTS = {
  'max-rollback-depth-exceeded': {
    meaning: "the source's chain leaves the replica's more than MAX_ROLLBACK_DEPTH blocks below its tip",
    remedy:
      'check whether that source is on the right chain; if it is, clear the halt: the replica is then loaded again'
  },
  'hash-mismatch': {
    meaning: 'the sources name different blocks, and none of them has a majority',
    remedy: 'find out which sources are right, remove the others from SYNC_SOURCES, then clear the halt'
  },
  'state-root-mismatch': {
    meaning: "a root computed from the replica's rows differs from the source's",
    remedy: 'compare the replica with a source that you trust (platform-node verify), then clear the halt'
  },
  'checkpoint-mismatch': {
    meaning: 'a block of the replica differs from the one that a quorum of validators signed',
    remedy:
      "check whether the source follows the quorum's chain; load the replica again from a source that does, then clear the halt"
  },
  'digest-mismatch': {
    meaning: "rows that were just repaired differ again, while the source's rows stayed the same",
    remedy: 'find the program that writes to the replica, or the source that contradicts itself, then clear the halt'
  }
} as const satisfies Record<string, HaltKind>;

export type HaltReason = keyof typeof HALTS;

/** Returns the operator's action for a halt. A halt that another program recorded gets a general remedy. */
export function remedyOf({ reason }: Pick<Halt, 'reason'>): string {
  const kind: HaltKind | undefined = Object.hasOwn(HALTS, reason) ? HALTS[reason as HaltReason] : undefined;
  return kind?.remedy ?? 'another program recorded this halt: find out why, then clear it';
}

/** Returns a halt that begins now. */
export function haltOf(
  reason: HaltReason,
  found: Pick<Halt, 'block_index' | 'mismatches' | 'sources'>
): Halt & { readonly reason: HaltReason } {
  return { ...found, reason, detected_at: new Date().toISOString() };
}
