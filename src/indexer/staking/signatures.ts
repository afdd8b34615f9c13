import { groupFields } from '../../coin/action/fields.ts';
import type { Signature } from '../../consensus/quorum.ts';
import type { Check } from '../rules/action-definition.ts';
import { readIndex } from '../rules/checks.ts';
import { readPubkey } from '../state/signer.ts';

const MOST_SIGNATURES = 100;
const SIGNATURE = /^[0-9a-f]{128}$/i;

/** Signatures of an action as its text has them. */
export interface Signed {
  /** Number of signatures; null when it is no count from 1 to 100. */
  readonly sigCount: number | null;
  readonly sigs: readonly Signature[];
}

/** Reads `SIG_COUNT → (PUBKEY → SIG)+` from a place on. */
export function readSigned(fields: readonly string[], from: number): Signed {
  const sigCount = readCount(fields[from] ?? '', MOST_SIGNATURES);
  const sigs = readCouples(fields, from + 1, sigCount).map(([pubkey, sig]) => ({ pubkey, sig }));
  return { sigCount, sigs };
}

/** Checks of the form of the signatures. */
export const SIGNED_CHECKS: readonly Check<Signed>[] = [
  ['SIG_COUNT (format)', ({ sigCount }) => sigCount === null],
  ['PUBKEY (format)', ({ sigs }) => sigs.some(({ pubkey }) => readPubkey(pubkey) === null)],
  ['SIG (format)', ({ sigs }) => !sigs.every(({ sig }) => SIGNATURE.test(sig))]
];

/** Returns the signatures as a row keeps them; null where one is badly formed. */
export function signedColumn({ sigs }: Signed): string | null {
  const isGood = sigs.every(({ pubkey, sig }) => readPubkey(pubkey) !== null && SIGNATURE.test(sig));
  return isGood ? JSON.stringify(sigs) : null;
}

/** Reads a count from 1 up to a limit; null for any other text. */
export function readCount(text: string, most: number): number | null {
  const count = readIndex(text);
  return count !== null && count >= 1 && count <= most ? count : null;
}

/** Returns that many couples of fields from a place on. Missing fields are empty. */
export function readCouples(fields: readonly string[], from: number, count: number | null): [string, string][] {
  const taken = Array.from({ length: 2 * (count ?? 0) }, (_, place) => fields[from + place] ?? '');
  return groupFields(taken, 2).map(([first, second]) => [first!, second!]);
}
