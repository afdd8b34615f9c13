import { PlatformError } from '../errors.ts';
import { canonicalJson } from './canonical-json.ts';
import { isSigned } from './ed25519.ts';

/** Validator that the operator pinned. */
export interface PinnedValidator {
  /** Ed25519 public key, 64 hex digits. */
  readonly pubkey: string;
  /** Positive whole number. */
  readonly weight: number;
  /** Owner of the key. The keys of one source count once. */
  readonly source: string;
}

/** Ed25519 signature: 64 hex digits of the key, 128 of the signature. */
export interface Signature {
  readonly pubkey: string;
  readonly sig: string;
}

/** Weight that has signed, and all of the pinned weight. */
interface SignedWeight {
  readonly signed: number;
  readonly total: number;
}

/** Most bytes of a record. A record is some hundred bytes, and each signer's check reads all of it twice. */
const MAX_RECORD_BYTES = 16 * 1024;

/**
 * Returns the weight of validators. Of each source only the key with the greatest weight counts, in what signed and in
 * the total alike.
 */
function weightOf(validators: readonly PinnedValidator[]): number {
  const bySource = Map.groupBy(validators, ({ source }) => source);
  return [...bySource.values()].reduce(
    (sum, keys) => sum + keys.reduce((most, { weight }) => Math.max(most, weight), 0),
    0
  );
}

/**
 * Returns the weight of the pinned validators that has signed the canonical JSON of a record. Signatures of others, a
 * second one by the same key, and wrong ones do not count.
 *
 * @throws {PlatformError} SOURCE_INVALID when the record has no canonical form, or is longer than any record
 */
export function signedWeight(
  record: Readonly<Record<string, unknown>>,
  signatures: readonly Signature[],
  validators: readonly PinnedValidator[]
): SignedWeight {
  const message = new TextEncoder().encode(canonicalJson(record));
  if (message.length > MAX_RECORD_BYTES)
    throw new PlatformError('SOURCE_INVALID', { reason: `a signed record is longer than ${MAX_RECORD_BYTES} bytes` });
  const given = new Map(signatures.map(({ pubkey, sig }) => [pubkey.toLowerCase(), sig]));
  const signers = validators.filter(({ pubkey }) => isSigned(message, pubkey, given.get(pubkey.toLowerCase())));
  return { signed: weightOf(signers), total: weightOf(validators) };
}

/** Returns whether more than two thirds of the weight has signed. */
export function isQuorum({ signed, total }: SignedWeight): boolean {
  return signed * 3 > total * 2;
}
