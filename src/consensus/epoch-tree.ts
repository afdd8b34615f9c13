import { hash } from 'node:crypto';
import { PlatformError } from '../errors.ts';

/** Hashes of one block, as recorded. A missing one counts as the empty string. */
export interface LeafHashes {
  readonly ledger_hash: string | null;
  readonly actions_hash: string | null;
  readonly contract_hash: string | null;
}

/** Step from leaf to root: the sibling, and the side on which it is. */
export interface ProofStep {
  readonly hash: string;
  readonly position: 'left' | 'right';
}

/** Returns the epoch of a block: epoch e covers blocks (e-1)*size+1 to e*size; block 0 is in none (0). */
export function epochOf(height: number, epochSize: number): number {
  return Math.ceil(height / epochSize);
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/**
 * Returns the SHA-256 hash over the ASCII text of the three lower-case hex hashes, as hex. @see the specification,
 * "Transparency log entry"
 */
export function leafHash({ ledger_hash, actions_hash, contract_hash }: LeafHashes): string {
  return sha256(`${ledger_hash ?? ''}${actions_hash ?? ''}${contract_hash ?? ''}`.toLowerCase());
}

/**
 * Returns the parents of a level. A parent is SHA-256 over the text of both children; an odd node is paired with
 * itself.
 */
function levelAbove(level: readonly string[]): string[] {
  const parents: string[] = [];
  for (let index = 0; index < level.length; index += 2) {
    parents.push(sha256(`${level[index]}${level[index + 1] ?? level[index]}`));
  }
  return parents;
}

/**
 * Returns the root over one epoch's leaves in ascending height; of one leaf, the leaf itself. @throws {PlatformError}
 * EPOCH_EMPTY
 */
export function epochRoot(leaves: readonly string[]): string {
  if (leaves.length === 0) throw new PlatformError('EPOCH_EMPTY', { reason: 'an epoch without blocks has no root' });
  let level = leaves;
  while (level.length > 1) level = levelAbove(level);
  return level[0]!;
}

/** Returns the steps from leaf `index` to the root. @throws {PlatformError} LEAF_UNKNOWN when there is no such leaf */
export function inclusionProof(leaves: readonly string[], index: number): ProofStep[] {
  if (!Number.isInteger(index) || index < 0 || index >= leaves.length) {
    throw new PlatformError('LEAF_UNKNOWN', { reason: `the epoch has no leaf ${index}`, leaves: leaves.length });
  }
  const steps: ProofStep[] = [];
  let level = leaves;
  for (let place = index; level.length > 1; place >>= 1) {
    if (place % 2 === 1) steps.push({ hash: level[place - 1]!, position: 'left' });
    else steps.push({ hash: level[place + 1] ?? level[place]!, position: 'right' });
    level = levelAbove(level);
  }
  return steps;
}

/** Returns whether the steps lead from this leaf to this root. */
export function verifyProof(leaf: string, proof: readonly ProofStep[], root: string): boolean {
  const reached = proof.reduce(
    (node, step) => (step.position === 'left' ? sha256(step.hash + node) : sha256(node + step.hash)),
    leaf
  );
  return reached === root;
}
