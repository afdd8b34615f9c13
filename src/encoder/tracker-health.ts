import Type, { type Static } from 'typebox';
import { callMethod } from '../service/rpc/call-method.ts';
import { shapeOf } from '../wire/data/shape.ts';

/** What is told of the tracker, where there is one. */
export const TrackerHealthSchema = Type.Object({
  tracker_reachable: Type.Boolean(),
  tracker_synced: Type.Boolean({ description: 'it has every block of its node' }),
  tracker_lag: Type.Union([Type.Integer(), Type.Null()], { description: 'blocks behind its node' }),
  tracker_halted: Type.Boolean(),
  tracker_mempool_ready: Type.Boolean({ description: 'it knows the whole mempool' })
});
export type TrackerHealth = Static<typeof TrackerHealthSchema>;

const SyncStatus = shapeOf(
  Type.Object({
    synced: Type.Boolean(),
    lag: TrackerHealthSchema.properties.tracker_lag,
    mempool_ready: Type.Boolean(),
    halted: Type.Optional(Type.Boolean())
  })
);

/** A probe waits for the answer. */
const TIMEOUT_MS = 2_000;
const UNREACHABLE: TrackerHealth = {
  tracker_reachable: false,
  tracker_synced: false,
  tracker_lag: null,
  tracker_halted: false,
  tracker_mempool_ready: false
};

/** How far a tracker is. Never throws: one that does not answer is not reachable. @param url  of the tracker, without a slash at its end */
export async function readTrackerHealth(url: string): Promise<TrackerHealth> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const told = await callMethod(`${url}/`, 'get_sync_status', {}, { signal }).catch(() => null);
  if (!SyncStatus.Check(told)) return UNREACHABLE;
  const { synced, lag, mempool_ready, halted = false } = told;
  return {
    tracker_reachable: true,
    tracker_synced: synced && lag === 0,
    tracker_lag: lag,
    tracker_halted: halted,
    tracker_mempool_ready: mempool_ready
  };
}
