import nacl from 'tweetnacl';

/** What a validator signs with. */
export interface SigningKey {
  /** Ed25519 public key in lower-case hex: the validator's name. */
  readonly pubkey: string;
  readonly secret: Uint8Array;
}

/** @param seed 32 bytes in hex */
export function signingKey(seed: string): SigningKey {
  const { publicKey, secretKey } = nacl.sign.keyPair.fromSeed(Buffer.from(seed, 'hex'));
  return { pubkey: Buffer.from(publicKey).toString('hex'), secret: secretKey };
}

/** Signs the decimal text of a Unix time. @returns hex */
export function signTime(ts: number, { secret }: SigningKey): string {
  return Buffer.from(nacl.sign.detached(timeText(ts), secret)).toString('hex');
}

/** True when the key's owner signed this time. @param pubkey 64 hex digits @param sig 128 hex digits */
export function isTimeSigned(ts: number, { pubkey, sig }: { readonly pubkey: string; readonly sig: string }): boolean {
  return nacl.sign.detached.verify(timeText(ts), Buffer.from(sig, 'hex'), Buffer.from(pubkey, 'hex'));
}

const timeText = (ts: number): Uint8Array => Buffer.from(String(ts));
