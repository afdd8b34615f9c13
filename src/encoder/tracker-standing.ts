import Type, { type Static } from 'typebox';
import type { ErrorCode } from '../errors.ts';

/** How a tracker's coins cannot be told. */
export const TRACKER_ERRORS = [
  'TRACKER_UNAVAILABLE',
  'TRACKER_BEHIND',
  'TRACKER_NOT_READY',
  'TRACKER_HALTED'
] as const satisfies readonly ErrorCode[];

/** What a tracker tells of how far it is. */
export const TrackerSyncSchema = Type.Object({
  synced: Type.Boolean(),
  lag: Type.Union([Type.Integer(), Type.Null()]),
  committed_height: Type.Union([Type.Integer(), Type.Null()]),
  committed_hash: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  halted: Type.Optional(Type.Boolean())
});
export type TrackerSync = Static<typeof TrackerSyncSchema>;

/** The encoder's own node. */
export interface OwnNode {
  readonly height: number;
  /** @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED */
  readonly hashAt: (height: number) => Promise<string>;
}

/** Why a tracker's coins are not those of the encoder's node. */
export interface TrackerFault {
  readonly code: (typeof TRACKER_ERRORS)[number];
  /** What stands behind "the UTXO tracker"; quotes no host: callers read it. */
  readonly reason: string;
  /** It may end by itself within seconds: a tracker polls its node once a second. */
  readonly isPassing: boolean;
}

const SHORT_LAG_BLOCKS = 3;

/** The one rule for health and for calls; null: it has the chain of the node. @throws what `hashAt` throws */
export async function findTrackerFault(sync: TrackerSync, { height, hashAt }: OwnNode): Promise<TrackerFault | null> {
  const { synced, lag, committed_height: has, committed_hash: hash, halted } = sync;
  if (halted) return fault('TRACKER_HALTED', 'is halted, and waits for its operator');
  if (lag === null || has === null)
    return fault('TRACKER_NOT_READY', 'does not know yet how far it is behind its node');
  if (lag > 0 || !synced)
    return fault('TRACKER_BEHIND', `is ${lag} blocks behind its node`, synced && lag <= SHORT_LAG_BLOCKS);
  const missing = height - has;
  const isShort = Math.abs(missing) <= SHORT_LAG_BLOCKS;
  const cause = 'one of the two nodes is stuck, or they are of different chains';
  if (missing > 0)
    return fault('TRACKER_BEHIND', `lacks ${missing} blocks that the encoder's node has: ${cause}`, isShort);
  if (missing < 0)
    return isShort ? null : fault('TRACKER_NOT_READY', `has ${-missing} blocks more than the encoder's node: ${cause}`);
  if (hash == null || (await hashAt(has)) === hash) return null;
  return fault(
    'TRACKER_NOT_READY',
    `has another block ${has} than the encoder's node: they are of different chains`,
    true
  );
}

const fault = (code: TrackerFault['code'], reason: string, isPassing = false): TrackerFault => ({
  code,
  reason,
  isPassing
});
