import { hasCode, PlatformError } from '../../errors.ts';
import type { NodeRpc } from './node-rpc.ts';

/** JSON-RPC's code for a call that a node does not have. */
const UNKNOWN_CALL = -32601;

/** Returns whether a node refused a call because it does not have it. */
export const isUnknownCall = (caught: unknown): boolean =>
  hasCode(caught, 'NODE_REFUSED') && caught.detail['rpcCode'] === UNKNOWN_CALL;

/** Returns the error for a node that has no `scantxoutset`. */
export function cannotScan(cause: unknown): PlatformError {
  const reason =
    'this node cannot look for the coins of an address (it has no scantxoutset): let the encoder ask a UTXO tracker (UTXO_TRACKER_URL), or name the coins to spend in utxos';
  return new PlatformError('NODE_REFUSED', { reason }, { cause });
}

/**
 * Refuses a node that cannot look for the coins of an address: every node of Dogecoin. Other failures say nothing of that.
 *
 * @throws {PlatformError} NODE_REFUSED
 */
export async function refuseWithoutScan(rpc: Pick<NodeRpc, 'call'>, signal?: AbortSignal): Promise<void> {
  await rpc.call('scantxoutset', ['status'], signal).catch((caught: unknown) => {
    if (isUnknownCall(caught)) throw cannotScan(caught);
  });
}
