import type { RawInput, RawTransaction } from '../raw/raw-transaction.ts';
import { hash160, payTo, payToScript, readProgram } from '../script/pay-scripts.ts';
import { OP_DROP, readScript, writePush } from '../script/script.ts';
import { payToLeaf } from '../script/taproot.ts';
import { isWholeSchnorr, SIGHASH_ALL } from './signed-whole.ts';

/** Form of the outputs that hold chunks, as a marker names it. */
export type ChunkForm = 'p2sh' | 'p2wsh';

/**
 * Proof that the owner of one key signed what a transaction reveals, provided that the spent outputs have these
 * scripts.
 */
export interface RevealProof {
  /** 33 or 65 bytes; 32 for a taproot leaf. */
  readonly publicKey: Uint8Array;
  /** Outputs of the transaction that the first input spends from. */
  readonly locks: readonly { readonly vout: number; readonly script: Uint8Array }[];
}

/** `OP_DUP OP_HASH160 <20 bytes> OP_EQUALVERIFY OP_CHECKSIG` */
const KEY_CHECK_BYTES = 25;

/**
 * Proves the signer of a payload in chunks.
 *
 * One key must check every input that reveals a chunk, all of them must spend from one transaction, and each signature
 * must cover all inputs and outputs. Otherwise undefined. Never throws.
 *
 * @param revealing positions of the inputs that reveal a chunk
 */
export function proveChunks(
  { inputs, witnesses }: RawTransaction,
  form: ChunkForm,
  revealing: readonly number[]
): RevealProof | undefined {
  const spent = revealing.map((at) => readChunkSpend(inputs[at]!, witnesses[at] ?? [], form));
  const [first] = spent;
  if (!first || inputs.some(({ txid }, at) => revealing.includes(at) && txid !== inputs[0]!.txid)) return undefined;
  const own = spent.flatMap((each) => (each && Buffer.from(each.publicKey).equals(first.publicKey) ? each.locks : []));
  return own.length === revealing.length ? { publicKey: first.publicKey, locks: own } : undefined;
}

/** Proves the signer of a payload in the first input's taproot leaf. @param key the leaf's */
export function proveEnvelope({ inputs, firstWitness }: RawTransaction, key: Uint8Array): RevealProof | undefined {
  const [signature, leaf, controlBlock] = firstWitness;
  if (firstWitness.length !== 3) return undefined;
  const script = payToLeaf(leaf!, controlBlock!);
  return isWholeSchnorr(signature!) && script
    ? { publicKey: key, locks: [{ vout: inputs[0]!.vout, script }] }
    : undefined;
}

/** Proves the spender of a script hash by the first input, which must hold a chunk or be nested segwit. */
export function proveSpender({ inputs, firstWitness }: RawTransaction): RevealProof | undefined {
  const input = inputs[0]!;
  return (
    readChunkSpend(input, firstWitness, 'p2wsh') ??
    readChunkSpend(input, firstWitness, 'p2sh') ??
    readNestedSpend(input, firstWitness)
  );
}

/** Reads an input of exactly `<signature> <key> <script>`, where the script is a chunk with the check of that key. */
function readChunkSpend(
  { script: unlock, vout }: RawInput,
  witness: readonly Buffer[],
  form: ChunkForm
): RevealProof | undefined {
  const isAlone = form === 'p2sh' ? witness.length === 0 : unlock.length === 0;
  const items = form === 'p2sh' ? readPushes(unlock) : witness;
  if (!isAlone || items?.length !== 3) return undefined;
  const [signature, publicKey, script] = items as [Uint8Array, Uint8Array, Uint8Array];
  if (signature.at(-1) !== SIGHASH_ALL || !isChunkOf(script, hash160(publicKey))) return undefined;
  return { publicKey, locks: [{ vout, script: payToScript(script, form) }] };
}

function readNestedSpend({ script: unlock, vout }: RawInput, witness: readonly Buffer[]): RevealProof | undefined {
  const [signature, publicKey] = witness;
  if (witness.length !== 2 || signature!.at(-1) !== SIGHASH_ALL) return undefined;
  const redeem = payTo({ kind: 'witnessKeyHash', bytes: hash160(publicKey!) });
  if (!unlock.equals(writePush(redeem))) return undefined;
  return { publicKey: publicKey!, locks: [{ vout, script: payToScript(redeem, 'p2sh') }] };
}

/** Returns whether a script is `<chunk> OP_DROP` and the check of the key with this hash. */
function isChunkOf(script: Uint8Array, keyHash: Buffer): boolean {
  const check = readProgram(script.subarray(-KEY_CHECK_BYTES));
  if (check?.kind !== 'keyHash' || !keyHash.equals(check.bytes)) return false;
  const held = readScript(script.subarray(0, -KEY_CHECK_BYTES));
  return held?.length === 2 && held[0]!.data !== undefined && held[1]!.opcode === OP_DROP;
}

/** Returns the pushes of a script; undefined when it has other elements. */
function readPushes(script: Uint8Array): readonly Uint8Array[] | undefined {
  const pushes = readScript(script)?.map(({ data }) => data);
  return pushes?.every((push) => push !== undefined) ? pushes : undefined;
}
