import { ed25519 } from '@noble/curves/ed25519.js';

const PUBKEY = /^[0-9a-f]{64}$/i;

/**
 * Whether 64 hex digits are a key that somebody can have: a point of the curve, and none of small order, under which a signature of
 * nobody's is one of every message.
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
