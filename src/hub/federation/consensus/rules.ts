import type { Batch, Message, Operation, Signed } from './messages.ts';

/** Rules that all hubs of a set share, with this hub's key. */
export interface Rules {
  readonly self: string;
  /** Keys of the set, in ascending order. */
  readonly keys: readonly string[];
  /** Votes that decide. */
  readonly quorum: number;
  /** Hubs that may lie. */
  readonly faulty: number;
  /** Whether a message in a certificate was signed by its sender. */
  readonly isSigned: (signed: Signed<Message>) => boolean;
  /** SHA-256 over the canonical JSON of a batch, hex. */
  readonly digestOf: (batch: Batch) => string;
  /** Whether an operation was signed by its submitter and has a form that all hubs take; what it does is judged when it is applied. */
  readonly isSubmitted: (operation: Operation) => boolean;
}

/** Batches between two checkpoints. */
export const CHECKPOINT_INTERVAL = 100;
/** Places above the stable checkpoint that are open: a hub that is slower by one interval still takes part. */
export const WINDOW = 2 * CHECKPOINT_INTERVAL;
/** Batches that a leader proposes before the first of them is applied. */
export const MOST_IN_FLIGHT = 8;
/** Places that a hub commits above the last one in its database: each of them stands with its proof in a wish for another view. */
export const MOST_AHEAD = 2 * MOST_IN_FLIGHT;
export const MOST_OPERATIONS = 1_000;
/** The same of one submitter: one that lies has others wait for a batch of what costs most, which all hubs refuse. */
export const MOST_OF_ONE = 100;
/** Characters of all operations of a batch, and of all batches that a leader has in flight, but for the first. */
export const MOST_BATCH_LENGTH = 262_144;
/** Characters that an operation takes up beside its body: its names and signature. */
const OPERATION_SIZE = 256;
/** Bytes of the longest wish for a view that a correct hub has: a batch that is committed, and as much that is not. @see hasRoom */
export const MOST_WISH_BYTES = 2_300_000;
/** Bytes of the wishes that prove a view: the longest message that hubs take has some more. The longest ones of ten hubs fit in. */
export const MOST_NEW_VIEW_BYTES = 25_000_000;
/** Operations of one submitter that wait at a hub: those with higher numbers are not kept. */
export const MOST_PENDING = 1_000;
/** Largest difference between a proposal's time and a hub's own clock. */
export const MOST_SKEW_MS = 30_000;
/** Time that a leader has for an operation that it could propose. */
export const ROUND_TIMEOUT_MS = 2_000;
/** Time after which a hub hands an operation on to all that the leader may not have. */
export const HAND_ON_MS = ROUND_TIMEOUT_MS / 4;
/** Time between two looks at the clock by which a hub finds that it stood still: it looks each second at least. */
export const STANDSTILL_MS = 1_500;
export const LONGEST_TIMEOUT_MS = 60_000;
/** Batches of one view after which the time-out is halved. */
export const CALM_BATCHES = 10;
/** Milliseconds without progress after which a hub sends its last messages once more; the pause then doubles up to the longest. */
export const RESEND_MS = 500;
export const LONGEST_RESEND_MS = 4_000;

/** Connections that a hub of a large set needs at most: the others are reached by relay. */
const MOST_NEEDED = 16;

/** Returns how many other hubs must be connected for a decision. */
export function neededPeers(quorum: number): number {
  return Math.min(quorum - 1, MOST_NEEDED);
}

/** Returns the characters of operations. */
export function lengthOf(operations: readonly Pick<Operation, 'body'>[]): number {
  return operations.reduce((sum, { body }) => sum + body.length, 0);
}

/** Returns what operations take up in a message, in characters. */
export function sizeOf(operations: readonly Pick<Operation, 'body'>[]): number {
  return lengthOf(operations) + OPERATION_SIZE * operations.length;
}

/** Returns the key of the hub that leads a view. */
export function leaderOf({ keys }: Pick<Rules, 'keys'>, view: number): string {
  return keys[view % keys.length]!;
}
