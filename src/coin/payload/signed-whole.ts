import type { RawTransaction } from '../raw/raw-transaction.ts';
import { readProgram } from '../script/pay-scripts.ts';
import { readScript } from '../script/script.ts';

/** The signature covers every input and output. @see BIP 143; a taproot signature of 64 bytes does so without saying it */
export const SIGHASH_ALL = 1;
/** Bytes of a taproot signature that covers the whole; one with a byte more says what it covers. @see BIP 341 */
const WHOLE_SIGNATURE_BYTES = 64;
const ANNEX = 0x50;
/** A tag, the bytes that follow, and what the signature covers. @see BIP 66, which allows no other form */
const ECDSA = { tag: 0x30, leastBytes: 9, mostBytes: 73, bytesAround: 3 };

/**
 * Whether every signature of a transaction's first input covers all inputs and outputs, and there is one.
 *
 * A signature that leaves outputs open lets whoever completes the transaction add what it says. One that leaves inputs open does not
 * cover which input is the first, so that others decide whose action it is. What looks like a signature counts as one: no input that
 * nodes take holds one in another form. Never throws.
 *
 * @param spent  the script of the output that the input spends
 */
export function isSignedWhole({ inputs, firstWitness }: RawTransaction, spent: Uint8Array): boolean {
  const kind = readProgram(spent)?.kind;
  if (kind === undefined) return false;
  if (kind === 'taproot') return isWholeTaproot(firstWitness);
  const pushes = readScript(inputs[0]!.script)?.flatMap(({ data }) => data ?? []) ?? [];
  const signatures = [...pushes, ...firstWitness].filter(isEcdsa);
  return signatures.length > 0 && signatures.every((signature) => signature.at(-1) === SIGHASH_ALL);
}

/** Whether a taproot signature covers all inputs and outputs. */
export function isWholeSchnorr(signature: Uint8Array): boolean {
  return signature.length === WHOLE_SIGNATURE_BYTES || signature.at(-1) === SIGHASH_ALL;
}

/** By the output's key, the witness is its signature; by a leaf, the leaf and the way to it follow what the leaf asks for. */
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
