import { findCarried, type LaneRules } from '../coin/payload/lanes.ts';
import { readFrame } from '../coin/payload/payload.ts';
import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { type TransactionForm, writeTransaction } from '../coin/raw/transaction-form.ts';
import { PlatformError } from '../errors.ts';

/** What was asked for. */
export interface ActionContent {
  readonly action: string;
  readonly rawData: Uint8Array | null;
}

/**
 * Reads the signed form of a transaction as a decoder will, with placeholders for signatures.
 *
 * @throws {PlatformError} SELF_CHECK_FAILED when it does not find the action that was asked for
 */
export function selfCheck(form: TransactionForm, { action, rawData }: ActionContent, rules: LaneRules): void {
  const carried = findCarried(readRawTransaction(writeTransaction(form)), rules);
  const read = carried && readFrame(carried.frame);
  const isSame = read?.written === action && read.action !== null && read.isUtf8;
  if (isSame && Buffer.from(read.rawData ?? []).equals(rawData ?? Buffer.alloc(0))) return;
  throw new PlatformError('SELF_CHECK_FAILED', { reason: 'the decoder reads another action', read: read?.written });
}
