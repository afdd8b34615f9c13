import { createPublicKey, verify } from 'node:crypto';

const PUBKEY = /^[0-9a-f]{64}$/i;
const SIGNATURE = /^[0-9a-f]{128}$/i;
/** Head of a public key in SPKI; its 32 bytes follow. @see RFC 8410, section 4 */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * Returns whether an Ed25519 signature of 128 hex digits is one of a message by a key of 64; false for any other text.
 *
 * A signature has one form: S must be below the order of the group, so nobody can make a second one out of it.
 *
 * @see RFC 8032, section 5.1.7
 */
export function isSigned(message: Uint8Array, pubkey: string, sig: string | undefined): boolean {
  if (sig === undefined || !SIGNATURE.test(sig) || !PUBKEY.test(pubkey)) return false;
  const der = Buffer.concat([SPKI_HEAD, Buffer.from(pubkey, 'hex')]);
  return verify(null, message, createPublicKey({ key: der, format: 'der', type: 'spki' }), Buffer.from(sig, 'hex'));
}
