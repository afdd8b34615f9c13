import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { isSigned } from './ed25519.ts';

/** Signing key of a validator. */
export interface SigningKey {
  /** Ed25519 public key in lower-case hex, which is the name of the validator. */
  readonly pubkey: string;
  readonly secret: KeyObject;
}

/** Head of a private key in PKCS #8; the seed follows. @see RFC 8410, section 7 */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;

/** Makes the key of a seed. @param seed 32 bytes in hex */
export function signingKey(seed: string): SigningKey {
  const der = Buffer.concat([PKCS8_HEAD, Buffer.from(seed, 'hex')]);
  const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const exported = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  return { pubkey: exported.subarray(-KEY_BYTES).toString('hex'), secret };
}

/** Signs a Unix time: its decimal text, or that and the name of the only server that is to believe it. @returns hex */
export function signTime(ts: number, { secret }: SigningKey, server?: string): string {
  return sign(null, signedText(ts, server), secret).toString('hex');
}

/**
 * Returns whether the key's owner signed this time, for this server if one is named. @param pubkey 64 hex digits @param
 * sig 128 hex digits
 */
export function isTimeSigned(
  ts: number,
  { pubkey, sig, server }: { readonly pubkey: string; readonly sig: string; readonly server?: string }
): boolean {
  return isSigned(signedText(ts, server), pubkey, sig);
}

const signedText = (ts: number, server: string | undefined): Uint8Array =>
  Buffer.from(server === undefined ? String(ts) : `platform-sync auth\n${server}\n${ts}`);
