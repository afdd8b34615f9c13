import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** One step from a leaf towards the root: the sibling, and on which side it stands. */
export interface ProofStep {
  readonly hash: string;
  readonly position: 'left' | 'right';
}

const hash = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)));

/** Computes the leaf of a block: SHA-256 over the text of its three hashes; a missing one is empty. */
export function leafOf(hashes: {
  readonly ledger_hash: string | null;
  readonly actions_hash: string | null;
  readonly contract_hash: string | null;
}): string {
  return hash([hashes.ledger_hash, hashes.actions_hash, hashes.contract_hash].map((each) => each ?? '').join(''));
}

/** Computes every hash on the way from the leaf up; the last one is the root that the proof leads to. */
export function climb(leaf: string, steps: readonly ProofStep[]): string[] {
  const path = [leaf];
  for (const { hash: sibling, position } of steps) {
    const below = path.at(-1)!;
    path.push(hash(position === 'left' ? sibling + below : below + sibling));
  }
  return path;
}
