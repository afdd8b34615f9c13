import type { FormOutput } from '../../coin/raw/transaction-form.ts';
import { PlatformError } from '../../errors.ts';

/**
 * Refuses a payment or change that ledgers would take for the protocol's fee. They take the first output to its address, and what the
 * first of two transactions pays comes behind all that the second one does.
 *
 * @param outputs of the transaction that carries the action
 * @throws {PlatformError} REQUEST_INVALID
 */
export function refuseBeforeFee(
  outputs: readonly FormOutput[],
  { feeOutputs: [fee] }: { readonly feeOutputs: readonly FormOutput[] }
): void {
  const first = fee && outputs.find(({ script }) => Buffer.from(script).equals(fee.script));
  if (!first || first.amount === fee.amount) return;
  const remedy =
    'Add a payment to the amount of feeQuote, or pay it by another transaction; for change, name another address in change';
  throw new PlatformError('REQUEST_INVALID', {
    reason: `an output of ${first.amount} satoshis pays the address of feeQuote and comes before the fee of ${fee.amount}: ledgers take the first one for the fee, and would refuse the action. ${remedy}`
  });
}
