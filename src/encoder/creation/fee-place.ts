import type { FormOutput } from '../../coin/raw/transaction-form.ts';
import { PlatformError } from '../../errors.ts';
import type { Order } from '../transaction/compose.ts';

/**
 * Refuses a payment or change that ledgers would take for the protocol's fee. They take the first output to its address, and what the
 * first of two transactions pays comes behind all that the second one does. A COINPAY would use up a payment of the same amount.
 *
 * @param outputs of the transaction that carries the action
 * @param order its `outputs` are the payments that were asked for
 * @throws {PlatformError} REQUEST_INVALID
 */
export function refuseBeforeFee(
  outputs: readonly FormOutput[],
  { outputs: payments, feeOutputs: [fee] }: Pick<Order, 'outputs' | 'feeOutputs'>
): void {
  const isThere = ({ script }: FormOutput) => fee !== undefined && Buffer.from(script).equals(fee.script);
  const payment = payments.find(isThere);
  const first = payment ?? outputs.find(isThere);
  if (!fee || !first || (!payment && first.amount === fee.amount)) return;
  const subject = `an output of ${first.amount} satoshis pays the address of feeQuote`;
  const consequence = `ledgers take the first one there for the fee of ${fee.amount}, and would refuse the action`;
  const remedy = 'Make a payment by another transaction; for change, name another address in change';
  throw new PlatformError('REQUEST_INVALID', { reason: `${subject}: ${consequence}. ${remedy}` });
}
