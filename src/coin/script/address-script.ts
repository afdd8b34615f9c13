import { PlatformError } from '../../errors.ts';
import { CHAIN_NETWORKS, type ChainNetwork } from '../chains.ts';
import { scriptOf } from './address.ts';

/**
 * Returns the script of an address. @throws {PlatformError} REQUEST_INVALID; its reason names the network of an address
 * of another one
 */
export function addressScript(text: string, network: ChainNetwork): Buffer {
  const script = scriptOf(text, network.addresses);
  if (script) return script;
  const owner = CHAIN_NETWORKS.find(({ addresses }) => scriptOf(text, addresses));
  const reason = owner
    ? `${text} is an address of ${owner.chain} ${owner.network}; this service serves ${network.chain} ${network.network}`
    : `${JSON.stringify(text.slice(0, 40))} is not an address of ${network.chain} ${network.network}`;
  throw new PlatformError('REQUEST_INVALID', { reason });
}
