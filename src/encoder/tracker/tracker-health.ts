import Type, { type Static } from 'typebox';
import { callMethod } from '../../service/rpc/call-method.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import { OrNull } from '../../wire/or-null.ts';
import {
  findTrackerFault,
  type OwnNode,
  type TrackerFault,
  type TrackerPlace,
  TrackerSyncSchema
} from './tracker-fault.ts';

/** Fields of `health` about the tracker. */
export const TrackerHealthSchema = Type.Object({
  tracker_reachable: Type.Boolean(),
  tracker_synced: Type.Boolean({ description: "it has every block of its node, and those of the encoder's" }),
  tracker_lag: OrNull(Type.Integer(), { description: 'blocks behind its node' }),
  tracker_halted: Type.Boolean(),
  tracker_mempool_ready: Type.Boolean({ description: 'it knows the whole mempool' }),
  tracker_fault: Type.Optional(Type.String({ description: 'why calls that need coins are refused' }))
});
export type TrackerHealth = Static<typeof TrackerHealthSchema>;

const SyncStatus = shapeOf(Type.Object({ ...TrackerSyncSchema.properties, mempool_ready: Type.Boolean() }));

/** Limit for one answer: a probe waits for it. */
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
 * Returns the state of a tracker, compared with the encoder's node. Never throws: a tracker that does not answer is not
 * reachable.
 *
 * @param node undefined while its state is not known
 * @param isPatient whether a passing fault does not count yet
 */
export async function readTrackerHealth(
  { url, apiKey }: TrackerPlace,
  node: OwnNode | undefined,
  isPatient: (fault: TrackerFault | null) => boolean = () => false
): Promise<TrackerHealth> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const status = await callMethod(`${url}/`, 'get_sync_status', {}, { apiKey, signal }).catch(() => null);
  if (!SyncStatus.Check(status)) return UNREACHABLE;
  const { lag, committed_height, mempool_ready, halted = false } = status;
  const own = node ?? { height: committed_height ?? 0, hashAt: async () => status.committed_hash ?? '' };
  const fault = await findTrackerFault(status, own).catch(() => null); // the node's own alarm covers its failure
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
