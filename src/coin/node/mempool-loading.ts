import { PlatformError } from '../../errors.ts';
import type { NodeRpc } from './node-rpc.ts';

/**
 * Refuses a node that still loads its mempool from disk, minutes after its start: what it tells of the mempool lacks transactions
 * that wait.
 *
 * @throws {PlatformError} NODE_BEHIND, and the errors of `NodeRpc.batch`
 */
export async function refuseLoading(rpc: Pick<NodeRpc, 'batch'>, signal?: AbortSignal): Promise<void> {
  const [info] = await rpc.batch('getmempoolinfo', [[]], { isPartial: true, ...(signal && { signal }) });
  const { loaded, size } = Object(info) as { loaded?: unknown; size?: unknown };
  if (loaded !== false) return; // older nodes do not say it
  const reason = `the node still loads its mempool: ${String(size)} transactions so far`;
  throw new PlatformError('NODE_BEHIND', { reason });
}
