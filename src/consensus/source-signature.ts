import { sign } from 'node:crypto';
import type { SigningKey } from './auth-signature.ts';
import { isSigned } from './ed25519.ts';

/**
 * Statement that a server signs about itself, so that a client with several sources counts it once under all its names.
 */
export interface SourceClaim {
  /** `dbType/chain/network`. */
  readonly database: string;
  /** 64 hex digits that the client drew. */
  readonly challenge: string;
  /** Name of the database that the server reads; null where MariaDB has no `@@server_uid`. */
  readonly origin: string | null;
}

/** Signs a claim. @returns hex */
export function signClaim(claim: SourceClaim, { secret }: SigningKey): string {
  return sign(null, claimText(claim), secret).toString('hex');
}

/** Returns whether the key's owner signed this claim. @param pubkey 64 hex digits @param sig 128 hex digits */
export function isClaimSigned(claim: SourceClaim, { pubkey, sig }: { readonly pubkey: string; readonly sig: string }) {
  return isSigned(claimText(claim), pubkey, sig);
}

const claimText = ({ database, challenge, origin }: SourceClaim): Uint8Array =>
  Buffer.from(`platform-sync source\n${database}\n${challenge}\n${origin ?? ''}`);
