import { hash160, payTo, payToScript, readProgram } from './pay-scripts.ts';
import { payToKey } from './taproot.ts';

const COORDINATE_BYTES = 32;

/**
 * Returns whether a script is that of a key's own address: plain, segwit, nested segwit, or taproot without a tree.
 *
 * @param publicKey 33 or 65 bytes; or 32, which mean both keys with that coordinate
 */
export function isAddressOfKey(script: Uint8Array, publicKey: Uint8Array): boolean {
  if (publicKey.length === COORDINATE_BYTES)
    return [2, 3].some((prefix) => isAddressOfKey(script, Buffer.from([prefix, ...publicKey])));
  const program = readProgram(script);
  switch (program?.kind) {
    case 'keyHash':
    case 'witnessKeyHash':
      return hash160(publicKey).equals(program.bytes);
    case 'scriptHash':
      return payToScript(payTo({ kind: 'witnessKeyHash', bytes: hash160(publicKey) }), 'p2sh').equals(script);
    case 'taproot': {
      const coordinate = publicKey.subarray(1, 1 + COORDINATE_BYTES);
      return Buffer.from(coordinate).equals(program.bytes) || payToKey(coordinate)?.equals(script) === true;
    }
    default:
      return false;
  }
}
