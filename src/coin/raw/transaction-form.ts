import { OP_CHECKMULTISIG, OP_CHECKSIG, readScript } from '../script/script.ts';
import { idBytes, sized, uint32, uint64, varInt } from './byte-writer.ts';

/** Data that lets an input spend: its script and the items of its witness. */
export interface Unlock {
  readonly script: Uint8Array;
  readonly witness: readonly Uint8Array[];
  /** Weight that signing may add: some signers write a signature one byte longer. Default: 0. */
  readonly spareWeight?: number;
}

/** An input of a transaction to write. */
export interface FormInput {
  /** Id of the transaction that it spends from. */
  readonly txid: string;
  readonly vout: number;
  readonly sequence: number;
  readonly unlock: Unlock;
}

/** An output of a transaction to write. */
export interface FormOutput {
  /** Base units. */
  readonly amount: bigint;
  readonly script: Uint8Array;
}

/** A transaction to write. */
export interface TransactionForm {
  readonly inputs: readonly FormInput[];
  readonly outputs: readonly FormOutput[];
}

const VERSION = 2;
/** Weight of a byte outside of witnesses; inside it is 1. @see BIP 141 */
export const WITNESS_SCALE = 4;
/** Weight per signature check, unless the node sets `bytespersigop`. */
const WEIGHT_PER_CHECK = 20;
const MOST_KEYS = 20;

/** Writes a transaction with the data that unlocks its inputs. @see BIP 144 */
export function writeTransaction({ inputs, outputs }: TransactionForm): Buffer {
  const body = bodyOf({ inputs, outputs });
  if (!hasWitness(inputs)) return Buffer.concat([uint32(VERSION), body, uint32(0)]);
  const stacks = inputs.flatMap(({ unlock: { witness } }) => [varInt(witness.length), ...witness.map(sized)]);
  return Buffer.concat([uint32(VERSION), Buffer.from([0, 1]), body, ...stacks, uint32(0)]);
}

/** Writes the bytes of which the transaction's id is the hash. */
export function writeBase(form: TransactionForm): Buffer {
  return Buffer.concat([uint32(VERSION), bodyOf(form), uint32(0)]);
}

/**
 * Returns the virtual bytes of a transaction, rounded up. With many signature checks, nodes count those instead of
 * bytes, and so does this.
 */
export function virtualSize(form: TransactionForm): number {
  return sizeWith(form, 0);
}

/** Returns the virtual bytes of a transaction with the longest signatures. */
export function longestVirtualSize(form: TransactionForm): number {
  return sizeWith(
    form,
    form.inputs.reduce((sum, { unlock }) => sum + (unlock.spareWeight ?? 0), 0)
  );
}

function sizeWith({ inputs, outputs }: TransactionForm, spareWeight: number): number {
  const inputWeight = inputs.reduce((sum, { unlock }) => sum + weightOfInput(unlock), 0);
  const outputBytes = outputs.reduce((sum, { script }) => sum + 8 + sizedBytes(script.length), 0);
  const baseBytes = 8 + varIntBytes(inputs.length) + varIntBytes(outputs.length) + outputBytes;
  const markers = hasWitness(inputs) ? 2 + inputs.length : 0;
  const weight = WITNESS_SCALE * baseBytes + inputWeight + markers + spareWeight;
  return Math.ceil(Math.max(weight, WEIGHT_PER_CHECK * checkCost({ inputs, outputs })) / WITNESS_SCALE);
}

/** Returns the cost of signature checks. A bare multisig counts as one with the most keys. @see BIP 141 */
function checkCost({ inputs, outputs }: TransactionForm): number {
  const checks = outputs.map(({ script }) => checksOf(script));
  const witnesses = inputs.filter(({ unlock }) => unlock.witness.length > 0).length;
  return WITNESS_SCALE * checks.reduce<number>((sum, count) => sum + count, 0) + witnesses;
}

/** Signature checks by script. Sizes are computed many times while coins are selected. */
const knownChecks = new WeakMap<Uint8Array, number>();
/** Weights by unlock. */
const knownWeights = new WeakMap<Unlock, number>();

function checksOf(script: Uint8Array): number {
  const known = knownChecks.get(script);
  if (known !== undefined) return known;
  const last = readScript(script)?.at(-1)?.opcode;
  const checks = last === OP_CHECKMULTISIG ? MOST_KEYS : last === OP_CHECKSIG ? 1 : 0;
  knownChecks.set(script, checks);
  return checks;
}

/** Returns the weight of an input without the count of witness items, which depends on the other inputs. */
function weightOfInput(unlock: Unlock): number {
  const known = knownWeights.get(unlock);
  if (known !== undefined) return known;
  const { script, witness } = unlock;
  const items = witness.reduce((sum, item) => sum + sizedBytes(item.length), 0);
  const weight = WITNESS_SCALE * (32 + 4 + sizedBytes(script.length) + 4) + items;
  knownWeights.set(unlock, weight);
  return weight;
}

const hasWitness = (inputs: readonly FormInput[]) => inputs.some(({ unlock }) => unlock.witness.length > 0);

function bodyOf({ inputs, outputs }: TransactionForm): Buffer {
  return Buffer.concat([
    varInt(inputs.length),
    ...inputs.flatMap(({ txid, vout, sequence, unlock }) => [
      idBytes(txid),
      uint32(vout),
      sized(unlock.script),
      uint32(sequence)
    ]),
    varInt(outputs.length),
    ...outputs.flatMap(({ amount, script }) => [uint64(amount), sized(script)])
  ]);
}

const varIntBytes = (value: number) => (value < 0xfd ? 1 : value <= 0xffff ? 3 : 5);
const sizedBytes = (length: number) => varIntBytes(length) + length;
