import { tapLeafHash } from '@scure/btc-signer/payment.js';
import { compareBytes, tagSchnorr, taprootTweakPubkey } from '@scure/btc-signer/utils.js';
import { payTo } from './pay-scripts.ts';

const KEY_BYTES = 32;
const STEP_BYTES = 32;
const NO_TREE = new Uint8Array();

/**
 * Returns the script of an output that a key alone spends; undefined when the bytes are no key.
 *
 * @param key 32 bytes, untweaked
 * @see BIP 86
 */
export function payToKey(key: Uint8Array): Buffer | undefined {
  return payToTree(key, NO_TREE);
}

/** Returns whether 32 bytes are the coordinate of a point on the curve. */
export function isKey(key: Uint8Array): boolean {
  return payToKey(key) !== undefined;
}

/**
 * Returns the script of the output whose tree holds a leaf; undefined when the control block's key is invalid.
 *
 * @see BIP 341
 */
export function payToLeaf(leaf: Uint8Array, controlBlock: Uint8Array): Buffer | undefined {
  const key = controlBlock.subarray(1, 1 + KEY_BYTES);
  let root: Uint8Array = tapLeafHash(leaf, controlBlock[0]! & 0xfe);
  for (let at = 1 + KEY_BYTES; at < controlBlock.length; at += STEP_BYTES) {
    const step = controlBlock.subarray(at, at + STEP_BYTES);
    root = tagSchnorr('TapBranch', ...[root, step].sort(compareBytes));
  }
  return payToTree(key, root);
}

/**
 * Returns the script of an output that a key, or a leaf of the tree with this root, spends; undefined when the bytes
 * are no key.
 */
export function payToTree(key: Uint8Array, root: Uint8Array): Buffer | undefined {
  try {
    const [bytes] = taprootTweakPubkey(key, root);
    return payTo({ kind: 'taproot', bytes });
  } catch {
    return undefined; // no point of the curve has this coordinate
  }
}
