import { hasCode, PlatformError } from '../../errors.ts';
import type { ChainNetwork } from '../chains.ts';
import type { NodeRpc } from './node-rpc.ts';

/**
 * Returns whether a node has peers. Without one its tip may be old, and what it is sent reaches nobody. A node of a regtest needs
 * none, and one that does not say how many it has counts as having some.
 *
 * @throws {PlatformError} NODE_UNREACHABLE
 */
export async function hasPeers(
  rpc: Pick<NodeRpc, 'call'>,
  { network }: Pick<ChainNetwork, 'network'>,
  signal?: AbortSignal
): Promise<boolean> {
  if (network === 'regtest') return true;
  const info = await rpc.call('getnetworkinfo', [], signal).catch((caught: unknown) => {
    if (hasCode(caught, 'NODE_REFUSED')) return null;
    throw caught;
  });
  const { connections, networkactive } = Object(info) as { connections?: unknown; networkactive?: unknown };
  return networkactive !== false && String(connections) !== '0';
}

/** Refuses a node without peers. @throws {PlatformError} NODE_BEHIND; NODE_UNREACHABLE */
export async function refuseAlone(
  rpc: Pick<NodeRpc, 'call'>,
  network: Pick<ChainNetwork, 'network'>,
  signal?: AbortSignal
): Promise<void> {
  if (await hasPeers(rpc, network, signal)) return;
  const reason = 'the node has no peers: its newest block may be old, and what it is sent reaches nobody';
  throw new PlatformError('NODE_BEHIND', { reason });
}
