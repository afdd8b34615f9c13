import { PlatformError } from '../../errors.ts';
import { CHAIN_NETWORKS, type ChainNetwork } from '../chains.ts';
import { scriptOf } from './address.ts';
import { readProgram } from './pay-scripts.ts';
import { isKey } from './taproot.ts';

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

/**
 * Returns the script of an address to pay. @throws {PlatformError} REQUEST_INVALID, also for a taproot address that
 * nobody can spend from
 */
export function paidScript(address: string, network: ChainNetwork): Buffer {
  const script = addressScript(address, network);
  const program = readProgram(script);
  if (program?.kind !== 'taproot' || isKey(program.bytes)) return script;
  const reason = `${address} stands for no key of secp256k1: nobody could ever spend what it is paid`;
  throw new PlatformError('REQUEST_INVALID', { reason });
}
