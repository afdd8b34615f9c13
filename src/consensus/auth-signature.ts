import nacl from 'tweetnacl';

/** The signing key of a validator. */
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

/** Signs a Unix time: its decimal text, or that and the name of the one server that is to believe it. @returns hex */
export function signTime(ts: number, { secret }: SigningKey, server?: string): string {
  return Buffer.from(nacl.sign.detached(signedText(ts, server), secret)).toString('hex');
}

/** True when the key's owner signed this time, for this server if one is named. @param pubkey 64 hex digits @param sig 128 hex digits */
export function isTimeSigned(
  ts: number,
  { pubkey, sig, server }: { readonly pubkey: string; readonly sig: string; readonly server?: string }
): boolean {
  return nacl.sign.detached.verify(signedText(ts, server), Buffer.from(sig, 'hex'), Buffer.from(pubkey, 'hex'));
}

const signedText = (ts: number, server: string | undefined): Uint8Array =>
  Buffer.from(server === undefined ? String(ts) : `platform-sync auth\n${server}\n${ts}`);
