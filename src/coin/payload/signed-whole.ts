import type { RawTransaction } from '../raw/raw-transaction.ts';
import { readProgram } from '../script/pay-scripts.ts';
import { readScript } from '../script/script.ts';

/** Signature type that covers every input and output. @see BIP 143 */
export const SIGHASH_ALL = 1;
/**
 * Bytes of a taproot signature that covers all inputs and outputs; one more byte names another coverage. @see BIP 341
 */
const WHOLE_SIGNATURE_BYTES = 64;
const ANNEX = 0x50;
/**
 * Form of an ECDSA signature: tag, length of the rest, and at the end the signature type. @see BIP 66, which allows no
 * other form
 */
const ECDSA = { tag: 0x30, leastBytes: 9, mostBytes: 73, bytesAround: 3 };

/**
 * Returns whether the first input has a signature, and every signature of it covers all inputs and outputs.
 *
 * A signature that leaves outputs open lets others add the action. One that leaves inputs open lets others choose the
 * first input, and so the source.
 *
 * Anything that looks like a signature counts as one: no input that nodes accept holds a signature in another form.
 * Never throws.
 *
 * @param spent script of the output that the input spends
 */
export function isSignedWhole({ inputs, firstWitness }: RawTransaction, spent: Uint8Array): boolean {
  const kind = readProgram(spent)?.kind;
  if (kind === undefined) return false;
  if (kind === 'taproot') return isWholeTaproot(firstWitness);
  const pushes = readScript(inputs[0]!.script)?.flatMap(({ data }) => data ?? []) ?? [];
  const signatures = [...pushes, ...firstWitness].filter(isEcdsa);
  return signatures.length > 0 && signatures.every((signature) => signature.at(-1) === SIGHASH_ALL);
}

/** Returns whether a taproot signature covers all inputs and outputs. */
export function isWholeSchnorr(signature: Uint8Array): boolean {
  return signature.length === WHOLE_SIGNATURE_BYTES || signature.at(-1) === SIGHASH_ALL;
}

/**
 * Checks a taproot witness. Spent by key, it holds one signature; spent by a leaf, the leaf and its control block come
 * last.
 */
function isWholeTaproot(witness: readonly Uint8Array[]): boolean {
  const items = witness.length > 1 && witness.at(-1)![0] === ANNEX ? witness.slice(0, -1) : witness;
  const asked = items.length === 1 ? items : items.slice(0, -2);
  const signatures = asked.filter(
    ({ length }) => length === WHOLE_SIGNATURE_BYTES || length === WHOLE_SIGNATURE_BYTES + 1
  );
  return signatures.length > 0 && signatures.every(isWholeSchnorr);
}

function isEcdsa(item: Uint8Array): boolean {
  const { tag, leastBytes, mostBytes, bytesAround } = ECDSA;
  return (
    item.length >= leastBytes && item.length <= mostBytes && item[0] === tag && item[1] === item.length - bytesAround
  );
}
