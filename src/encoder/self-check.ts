import { type Carried, feeIsFunded, findCarried, type LaneRules } from '../coin/payload/lanes.ts';
import { type Payload, readFrame } from '../coin/payload/payload.ts';
import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { type FormOutput, type TransactionForm, writeTransaction } from '../coin/raw/transaction-form.ts';
import { isAddressOfKey } from '../coin/script/key-address.ts';
import { PlatformError } from '../errors.ts';
import type { Sender } from './transaction/sender.ts';

const NO_BYTES = new Uint8Array();
const NOTHING: Pick<Carried, 'lane' | 'proof'> = { lane: 'outputs' };

/** What was asked for. */
export interface ActionContent {
  readonly action: string;
  readonly rawData: Uint8Array | null;
}

/** What else was asked for: payments, and the fee of the protocol. */
export interface AskedPayments {
  readonly outputs: readonly FormOutput[];
  readonly feeOutputs: readonly FormOutput[];
  readonly sender: Pick<Sender, 'script' | 'publicKey'>;
}

/**
 * Reads the signed form of a transaction as a decoder will, with placeholders for signatures: what it says, what it pays where, and
 * who signs a reveal.
 *
 * @param said  null: the transaction says nothing
 * @param funding  outputs of the transaction that a reveal spends from; empty: it is none
 * @throws {PlatformError} SELF_CHECK_FAILED when that is not what was asked for
 */
export function selfCheck(
  form: TransactionForm,
  said: ActionContent | null,
  { outputs, feeOutputs, sender }: AskedPayments,
  rules: LaneRules,
  funding: readonly FormOutput[] = []
): void {
  const carried = findCarried(readRawTransaction(writeTransaction(form)), rules);
  const read = carried && readFrame(carried.frame);
  if (!isSame(said, read)) throw failed('the decoder reads another action', { read: read?.written });
  const { lane, proof } = carried ?? NOTHING;
  if (!holds(form.outputs, outputs)) throw failed('an output that was asked for is missing');
  if (!holds(feeIsFunded(lane) ? funding : form.outputs, feeOutputs))
    throw failed('the decoder does not find the fee of the protocol');
  // Without the key its place in the scripts holds zeros.
  if (lane === 'outputs' || !sender.publicKey) return;
  const isLocked = proof?.locks.every(({ vout, script }) =>
    Buffer.from(script).equals(funding[vout]?.script ?? NO_BYTES)
  );
  if (!isLocked || !isAddressOfKey(sender.script, proof!.publicKey))
    throw failed('the decoder does not see that the sender signs');
}

function isSame(said: ActionContent | null, read: Payload | undefined): boolean {
  if (!said || !read) return !said && !read;
  const { written, action, isUtf8, rawData } = read;
  const isSaid = written === said.action && action !== null && isUtf8;
  return isSaid && Buffer.from(rawData ?? NO_BYTES).equals(said.rawData ?? NO_BYTES);
}

/** Whether each of some payments is among outputs, as often as it was asked for. */
function holds(outputs: readonly FormOutput[], wanted: readonly FormOutput[]): boolean {
  const left = [...outputs];
  return wanted.every(({ amount, script }) => {
    const at = left.findIndex((each) => each.amount === amount && Buffer.from(each.script).equals(script));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

const failed = (reason: string, detail: Readonly<Record<string, unknown>> = {}) =>
  new PlatformError('SELF_CHECK_FAILED', { reason, ...detail });
