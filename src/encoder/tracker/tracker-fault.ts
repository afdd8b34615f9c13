import Type, { type Static } from 'typebox';
import { type ErrorCode, hasCode } from '../../errors.ts';
import { OrNull } from '../../wire/or-null.ts';

/** Reasons why a tracker's coins cannot be used. */
export const TRACKER_ERRORS = [
  'TRACKER_UNAVAILABLE',
  'TRACKER_BEHIND',
  'TRACKER_NOT_READY',
  'TRACKER_HALTED'
] as const satisfies readonly ErrorCode[];

/** A tracker's own report of its state. */
export const TrackerSyncSchema = Type.Object({
  synced: Type.Boolean(),
  lag: OrNull(Type.Integer()),
  committed_height: OrNull(Type.Integer()),
  committed_hash: Type.Optional(OrNull(Type.String())),
  halted: Type.Optional(Type.Boolean()),
  mempool_ready: Type.Optional(Type.Boolean()),
  alarm: Type.Optional(Type.Object({ code: Type.String({ pattern: '^[A-Z_]{1,40}$' }) }))
});
/** A checked report. */
type TrackerSync = Static<typeof TrackerSyncSchema>;

/** Place of a tracker. */
export interface TrackerPlace {
  /** Without a slash at its end. */
  readonly url: string;
  /** Key that is sent to it; undefined: none. */
  readonly apiKey?: string | undefined;
}

/** The encoder's node. */
export interface OwnNode {
  readonly height: number;
  /** @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED */
  readonly hashAt: (height: number) => Promise<string>;
}

/** A reason why a tracker's coins differ from those of the encoder's node. */
export interface TrackerFault {
  readonly code: (typeof TRACKER_ERRORS)[number];
  /** Text that follows "the UTXO tracker". It names no host: callers read it. */
  readonly reason: string;
  /** Whether it may end by itself within seconds: a tracker polls its node once a second. */
  readonly isPassing: boolean;
}

/** Most blocks of a lag that may pass by itself. */
const SHORT_LAG_BLOCKS = 3;

/**
 * Compares a tracker with the encoder's node. Health and calls use this one rule. @returns null when both have the same
 * chain @throws the errors of `hashAt`
 */
export async function findTrackerFault(sync: TrackerSync, { height, hashAt }: OwnNode): Promise<TrackerFault | null> {
  const { synced, lag, committed_height: has, committed_hash: hash, halted, alarm } = sync;
  if (halted) return fault('TRACKER_HALTED', 'is halted until its operator acts');
  if (lag === null || has === null)
    return fault('TRACKER_NOT_READY', 'does not know yet how far it is behind its node');
  if (lag > 0) return fault('TRACKER_BEHIND', `is ${lag} blocks behind its node`, lag <= SHORT_LAG_BLOCKS);
  if (!synced) {
    const reason = alarm ? `waits, and says why in its /status: ${alarm.code}` : 'waits for its node or database';
    return fault('TRACKER_NOT_READY', reason, true);
  }
  const missing = height - has;
  const isShort = Math.abs(missing) <= SHORT_LAG_BLOCKS;
  const cause = 'one of the two nodes is stuck, or they are of different chains';
  if (missing > 0)
    return fault('TRACKER_BEHIND', `lacks ${missing} blocks that the encoder's node has: ${cause}`, isShort);
  if (missing < 0)
    return isShort || (await hasBlock(hashAt, has, hash))
      ? null
      : fault('TRACKER_NOT_READY', `has ${-missing} blocks more than the encoder's node: ${cause}`);
  if (hash == null || (await hashAt(has)) === hash) return null;
  return fault(
    'TRACKER_NOT_READY',
    `has another block ${has} than the encoder's node: they are of different chains`,
    true
  );
}

/** Returns whether a node has a tracker's block by now: its height was asked before the tracker. */
async function hasBlock(hashAt: OwnNode['hashAt'], height: number, hash: string | null | undefined): Promise<boolean> {
  if (hash == null) return false;
  return await hashAt(height).then(
    (own) => own === hash,
    (caught: unknown) => {
      if (hasCode(caught, 'NODE_REFUSED')) return false;
      throw caught;
    }
  );
}

const fault = (code: TrackerFault['code'], reason: string, isPassing = false): TrackerFault => ({
  code,
  reason,
  isPassing
});
