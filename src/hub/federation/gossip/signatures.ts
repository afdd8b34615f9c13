import { createHash, sign } from 'node:crypto';
import type { SigningKey } from '../../../consensus/auth-signature.ts';
import { canonicalJson } from '../../../consensus/canonical-json.ts';
import { isSigned } from '../../../consensus/ed25519.ts';
import { byzantineQuorum, pbftQuorum } from '../../../consensus/pbft-quorum.ts';
import type { Batch, Message, Operation, Signed } from '../consensus/messages.ts';
import type { Rules } from '../consensus/rules.ts';

/** Facts that all hubs of a set agree on before they begin. */
export interface HubSet {
  /** Ed25519, 64 hex digits each, in ascending order. */
  readonly keys: readonly string[];
  /** Votes that decide: as the specification says, or so many that two quorums share an honest hub. */
  readonly quorum: 'specified' | 'byzantine';
}

/** Returns the id of a set, 64 hex digits: sets that differ in a key or in the quorum have different ones. */
export function setIdOf({ keys, quorum }: HubSet): string {
  return sha256(canonicalJson({ keys: keys.toSorted(), quorum }));
}

/** Returns a message with its signature, which counts in this set alone. */
export function signMessage<M extends Message>(set: string, message: M, { pubkey, secret }: SigningKey): Signed<M> {
  return { sender: pubkey, message, sig: sign(null, textOf('message', set, message), secret).toString('hex') };
}

/** Returns an operation with its submitter's signature, which counts in this set alone. */
export function signOperation(set: string, number: number, body: string, { pubkey, secret }: SigningKey): Operation {
  const unsigned = { submitter: pubkey, number, body };
  return { ...unsigned, sig: sign(null, textOf('operation', set, unsigned), secret).toString('hex') };
}

/** Returns the digest of a batch: SHA-256 over its canonical JSON, 64 hex digits. */
export function digestOf(batch: Batch): string {
  return sha256(canonicalJson(batch));
}

/**
 * Returns the rules of a set for one of its hubs. What they found of an object is remembered with it, so a message that stands in several
 * certificates is checked once.
 *
 * @param isWellFormed  whether all hubs can carry out an operation's body
 */
export function rulesOf(set: HubSet, self: string, isWellFormed: (body: string) => boolean): Rules {
  const id = setIdOf(set);
  const keys = set.keys.toSorted();
  const quorum = set.quorum === 'specified' ? pbftQuorum(keys.length) : byzantineQuorum(keys.length);
  return {
    self,
    keys,
    quorum,
    faulty: Math.floor((keys.length - 1) / 3),
    isSigned: remembered(({ sender, message, sig }: Signed<Message>) =>
      isSigned(textOf('message', id, message), sender, sig)
    ),
    digestOf: remembered(digestOf),
    isSubmitted: remembered(
      ({ submitter, number, body, sig }: Operation) =>
        isWellFormed(body) && isSigned(textOf('operation', id, { submitter, number, body }), submitter, sig)
    )
  };
}

/** Returns the signed bytes: kind and set stand first, so no signature counts for another kind or set. */
function textOf(kind: 'message' | 'operation', set: string, value: unknown): Uint8Array {
  return Buffer.from(`platform-hub ${kind}\n${set}\n${canonicalJson(value)}`);
}

function remembered<K extends object, V>(find: (key: K) => V): (key: K) => V {
  const found = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = found.get(key);
    if (known) return known.value;
    const value = find(key);
    found.set(key, { value });
    return value;
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
