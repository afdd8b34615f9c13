import type { SystemAction } from '../rules/action-definition.ts';
import type { Effects } from '../state/effects.ts';
import { expireObligation } from './coinpay.ts';
import { closeDispenser, expireDispenser } from './dispenser-end.ts';
import type { Offer } from './offer.ts';
import { expireTrade } from './trade-end.ts';

const byIndex = (a: Offer, b: Offer) => a.index - b.index;

/**
 * What ends with a block of a time: open offers that expired before it, in the order of their actions, then awaited payments
 * whose time is over, then dispensers that were cancelled an hour ago. A cancelled dispenser does not expire: its hour ends it.
 */
export function dueActions(ledger: Effects, time: number): SystemAction[] {
  const expiring = [
    ...ledger.offersEnding('order', time),
    ...ledger.offersEnding('swap', time),
    ...ledger.offersEnding('dispenser', time)
  ]
    .filter(({ expiration }) => expiration < time)
    .sort(byIndex);
  const unpaid = ledger.offersEnding('coinpay', time).sort(byIndex);
  return [
    ...expiring.map((offer) => (offer.kind === 'dispenser' ? expireDispenser(offer) : expireTrade(offer))),
    ...unpaid.map((owed) => expireObligation(owed, ledger.offer('order', owed.seller)!.source)),
    ...ledger.dispensersClosing(time).map((dispenser) => closeDispenser(dispenser, 'cancelled'))
  ];
}
