import { formatAmount } from '../../consensus/amount.ts';
import { type Step, type SystemAction, statusText, VALID } from '../rules/action-definition.ts';
import { hasLimits } from '../rules/checks.ts';
import type { Obligation } from '../state/offer.ts';
import type { Output, OutputsPaid } from '../state/payment.ts';
import { giveSide } from './escrow.ts';
import { endTrade, settleTrade } from './trade-end.ts';

/** Status of a match that nobody has paid for. */
const EXPIRED_MATCH = 'expired';

/** Outputs of transactions by their addresses. Each COINPAY of a BATCH asks for those of its payee. */
const byAddress = new WeakMap<readonly Output[], ReadonlyMap<string, readonly Output[]>>();

function outputsTo(payee: string, outputs: readonly Output[]): readonly Output[] {
  const known = byAddress.get(outputs) ?? Map.groupBy(outputs, ({ address }) => address);
  byAddress.set(outputs, known);
  return known.get(payee) ?? [];
}

/** Transaction of a COINPAY. */
interface PayingTransaction extends OutputsPaid {
  readonly source: string;
  /** Median time of its block, in epoch seconds. */
  readonly time: number;
}

/**
 * Returns the payments of a COINPAY: the first output to the payee that suffices. A match that is no longer due refuses
 * each such output; where limits hold, the first one only.
 */
export function paymentsOf(
  match: number | null,
  { source, txid, time, outputs }: PayingTransaction,
  { ledger, limits }: Pick<Step, 'ledger' | 'limits'>
): SystemAction[] {
  const owed = match === null ? null : ledger.offer('coinpay', match);
  if (owed?.status !== 'pending_coinpay') return [];
  const suffices = ({ vout, amount }: Output) =>
    amount >= owed.coinAmount && amount - ledger.get('spent', `${txid}|${vout}`) >= owed.coinAmount;
  const paying = outputsTo(owed.payee, outputs).values().filter(suffices);
  const isOne = time < owed.expiration || hasLimits({ limits });
  return [...(isOne ? paying.take(1) : paying)].map((output) => payMatch(owed, output, { source, txid }));
}

/** Pays a match, which waits for payment, with one output that suffices. */
function payMatch(
  { index }: Obligation,
  { vout }: Output,
  { source, txid }: { readonly source: string; readonly txid: string }
): SystemAction {
  return {
    name: 'COINPAY',
    source,
    format: 0,
    hasTransaction: true,
    vout,
    run: (step) => {
      const { action, ledger } = step;
      const spentKey = `${txid}|${vout}`;
      const owed = ledger.offer('coinpay', index)!;
      ledger.set('spent', spentKey, ledger.get('spent', spentKey) + owed.coinAmount);
      const refusal = action.block.time >= owed.expiration ? 'COINPAY obligation expired' : undefined;
      ledger.record('coinpays', {
        action_index: action.index,
        obligation_action_index: owed.index,
        coin_amount: formatAmount(owed.coinAmount),
        txid,
        vout,
        status_id: statusText(refusal),
        block_index: action.block.height
      });
      if (refusal === undefined) fulfil(owed, step);
      return true;
    }
  };
}

function fulfil(owed: Obligation, step: Step): void {
  const [seller, buyer] = [owed.seller, owed.buyer].map((index) => step.ledger.offer('order', index)!);
  giveSide(owed.give, { named: seller!.source, to: buyer!.getAddress }, step);
  finish(owed, { status: 'fulfilled', match: VALID }, step);
}

/**
 * Ends a match that was not paid. The seller, or the address that a SWEEP gave its orders to, gets the escrow back. The
 * buyer's order gets back the amounts that the match had used; from the height of UNPAID_ENDS on it ends, but not, from that of
 * UNPAID_DUST on, with a payment that no node takes.
 */
export function expireObligation({ index, seller, buyer }: Obligation, source: string): SystemAction {
  return {
    name: 'COINPAY_EXPIRE',
    source,
    run: (step) => {
      const owed = step.ledger.offer('coinpay', index);
      if (owed?.status !== 'pending_coinpay') return false;
      step.ledger.record('coinpay_expires', {
        action_index: step.action.index,
        obligation_action_index: index,
        status_id: VALID
      });
      const { source: named, refundAddress } = step.ledger.offer('order', seller)!;
      giveSide(owed.give, { named, to: refundAddress }, step);
      freePayer(owed, step);
      finish(owed, { status: 'expired', match: EXPIRED_MATCH }, step);
      const order = step.ledger.offer('order', buyer)!;
      if (endsUnpaid(owed, step) && order.status === 'open') endTrade(order, 'expired', order.source, step);
      return true;
    }
  };
}

/** Returns whether an order ends with a match that it has not paid. What nodes take for dust, nobody could have paid. */
function endsUnpaid({ coinAmount }: Obligation, { rules, action }: Step): boolean {
  const { height } = action.block;
  if (!rules.isActive('UNPAID_ENDS', height)) return false;
  return coinAmount >= rules.leastPayment || !rules.isActive('UNPAID_DUST', height);
}

function freePayer({ buyer, coinAmount, give }: Obligation, { ledger }: Step): void {
  const order = ledger.offer('order', buyer)!;
  ledger.setOffer({ ...order, giveLeft: order.giveLeft + coinAmount, getLeft: order.getLeft + give.amount });
}

function finish(
  owed: Obligation,
  { status, match }: { readonly status: string; readonly match: string },
  step: Step
): void {
  const { action, ledger } = step;
  ledger.record('coinpay_statuses', {
    action_index: action.index,
    coinpay_action_index: owed.index,
    status_id: status
  });
  ledger.change('order_matches', owed.index, { status_id: match });
  ledger.setOffer({ ...owed, status });
  for (const index of [owed.seller, owed.buyer]) settleTrade(ledger.offer('order', index)!, step);
}
