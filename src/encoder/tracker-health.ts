import Type, { type Static } from 'typebox';
import { callMethod } from '../service/rpc/call-method.ts';
import { shapeOf } from '../wire/data/shape.ts';
import { findTrackerFault, type OwnNode, type TrackerFault, TrackerSyncSchema } from './tracker-standing.ts';

/** What is told of the tracker, where there is one. */
export const TrackerHealthSchema = Type.Object({
  tracker_reachable: Type.Boolean(),
  tracker_synced: Type.Boolean({ description: "it has every block of its node, and those of the encoder's" }),
  tracker_lag: Type.Union([Type.Integer(), Type.Null()], { description: 'blocks behind its node' }),
  tracker_halted: Type.Boolean(),
  tracker_mempool_ready: Type.Boolean({ description: 'it knows the whole mempool' }),
  tracker_fault: Type.Optional(Type.String({ description: 'why calls that need coins are refused' }))
});
export type TrackerHealth = Static<typeof TrackerHealthSchema>;

const SyncStatus = shapeOf(Type.Object({ ...TrackerSyncSchema.properties, mempool_ready: Type.Boolean() }));

/** A probe waits for the answer. */
const TIMEOUT_MS = 2_000;
const UNREACHABLE: TrackerHealth = {
  tracker_reachable: false,
  tracker_synced: false,
  tracker_lag: null,
  tracker_halted: false,
  tracker_mempool_ready: false,
  tracker_fault: 'the UTXO tracker does not answer'
};

/**
 * How far a tracker is, beside the encoder's node. Never throws: one that does not answer is not reachable.
 *
 * @param url  of the tracker, without a slash at its end
 * @param node  undefined while it is not known
 * @param isPatient  whether a fault that may pass is none yet
 */
export async function readTrackerHealth(
  url: string,
  node: OwnNode | undefined,
  isPatient: (fault: TrackerFault | null) => boolean = () => false
): Promise<TrackerHealth> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const told = await callMethod(`${url}/`, 'get_sync_status', {}, { signal }).catch(() => null);
  if (!SyncStatus.Check(told)) return UNREACHABLE;
  const { lag, committed_height, mempool_ready, halted = false } = told;
  const own = node ?? { height: committed_height ?? 0, hashAt: async () => told.committed_hash ?? '' };
  const fault = await findTrackerFault(told, own).catch(() => null); // of a node that fails its own alarm tells
  const isFit = isPatient(fault) || fault === null;
  return {
    tracker_reachable: true,
    tracker_synced: isFit,
    tracker_lag: lag,
    tracker_halted: halted,
    tracker_mempool_ready: mempool_ready,
    ...(isFit ? {} : { tracker_fault: `the UTXO tracker ${fault.reason}` })
  };
}
