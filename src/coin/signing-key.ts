import { ed25519 } from '@noble/curves/ed25519.js';

const PUBKEY = /^[0-9a-f]{64}$/i;

/**
 * Returns whether 64 hex digits are a valid Ed25519 key: a point on the curve, and not of small order. Under a key of
 * small order one signature is valid for every message.
 *
 * @see RFC 8032, section 5.1.3
 */
export function isSigningKey(pubkey: string): boolean {
  if (!PUBKEY.test(pubkey)) return false;
  try {
    return !ed25519.Point.fromHex(pubkey.toLowerCase()).isSmallOrder();
  } catch {
    return false;
  }
}
