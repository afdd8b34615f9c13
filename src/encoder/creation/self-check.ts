import { type Carried, feeIsFunded, findCarried, type LaneRules } from '../../coin/payload/lanes.ts';
import { type Payload, readFrame } from '../../coin/payload/payload.ts';
import { readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import { type FormOutput, type TransactionForm, writeTransaction } from '../../coin/raw/transaction-form.ts';
import { isAddressOfKey } from '../../coin/script/key-address.ts';
import { PlatformError } from '../../errors.ts';
import { keyOf } from '../coins/reservations.ts';
import { type Spent, writePsbt } from '../transaction/psbt.ts';
import type { Sender } from '../transaction/sender.ts';

const NO_BYTES = new Uint8Array();
const NOTHING: Pick<Carried, 'lane' | 'proof'> = { lane: 'outputs' };

/** The action that was asked for. */
export interface ActionContent {
  readonly action: string;
  readonly rawData: Uint8Array | null;
}

/** Payments that were asked for, and the protocol's fee. */
interface AskedPayments {
  readonly outputs: readonly FormOutput[];
  readonly feeOutputs: readonly FormOutput[];
  readonly sender: Pick<Sender, 'script' | 'publicKey'>;
}

/**
 * Checks a transaction as a decoder reads it, with placeholders for signatures: the action, the payments, and the
 * signer of a reveal.
 *
 * @param content null for a transaction that only pays
 * @param funding outputs of the transaction that a reveal spends; empty for any other
 * @throws {PlatformError} SELF_CHECK_FAILED when it differs from what was asked for
 */
export function selfCheck(
  form: TransactionForm,
  content: ActionContent | null,
  { outputs, feeOutputs, sender }: AskedPayments,
  rules: LaneRules,
  funding: readonly FormOutput[] = []
): void {
  const carried = findCarried(readRawTransaction(writeTransaction(form)), rules);
  const read = carried && readFrame(carried.frame);
  if (!isSame(content, read)) throw failed('the decoder reads another action', { read: read?.written });
  const { lane, proof } = carried ?? NOTHING;
  if (!holds(form.outputs, outputs)) throw failed('an output that was asked for is missing');
  if (!holds(feeIsFunded(lane) ? funding : form.outputs, feeOutputs))
    throw failed('the decoder does not find the fee of the protocol');
  // Without the public key the scripts hold zeros in its place.
  if (lane === 'outputs' || !sender.publicKey) return;
  const isLocked = proof?.locks.every(({ vout, script }) =>
    Buffer.from(script).equals(funding[vout]?.script ?? NO_BYTES)
  );
  if (!isLocked || !isAddressOfKey(sender.script, proof!.publicKey))
    throw failed('the decoder does not see that the sender signs');
}

function isSame(asked: ActionContent | null, read: Payload | undefined): boolean {
  if (!asked || !read) return !asked && !read;
  const { written, action, isUtf8, rawData } = read;
  const isSameAction = written === asked.action && action !== null && isUtf8;
  return isSameAction && Buffer.from(rawData ?? NO_BYTES).equals(asked.rawData ?? NO_BYTES);
}

/** Returns whether the outputs contain every wanted payment, as often as it is wanted. */
function holds(outputs: readonly FormOutput[], wanted: readonly FormOutput[]): boolean {
  const left = [...outputs];
  return wanted.every(({ amount, script }) => {
    const at = left.findIndex((each) => each.amount === amount && Buffer.from(each.script).equals(script));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/**
 * Returns the PSBT of a transaction, as hex.
 *
 * @param spent in the order of the inputs
 * @param fee satoshis, as the caller is told
 * @throws {PlatformError} SELF_CHECK_FAILED when what is left of the inputs is another amount, or one is spent twice
 */
export function psbtPaying(form: TransactionForm, spent: readonly Spent[], fee: bigint): string {
  const left = totalOf(spent) - totalOf(form.outputs);
  if (left !== fee) throw failed(`the transaction leaves ${left} satoshis to the miner, and not the fee of ${fee}`);
  if (new Set(form.inputs.map(keyOf)).size < form.inputs.length) throw failed('the transaction spends a coin twice');
  return writePsbt(form, spent).toString('hex');
}

const totalOf = (amounts: readonly { readonly amount: bigint }[]): bigint =>
  amounts.reduce((sum, { amount }) => sum + amount, 0n);

const failed = (reason: string, detail: Readonly<Record<string, unknown>> = {}) =>
  new PlatformError('SELF_CHECK_FAILED', { reason, ...detail });
