import type { SystemAction } from '../rules/action-definition.ts';
import type { Effects } from '../state/effects.ts';
import { expireObligation } from './coinpay.ts';
import { closeDispenser, expireDispenser } from './dispenser-end.ts';
import type { Offer } from './offer.ts';
import { expireTrade } from './trade-end.ts';

/**
 * What ends with a block of a time: open offers that expired before it, in the order of their actions, then awaited payments
 * whose time is over, then dispensers that were cancelled an hour ago. A cancelled dispenser does not expire: its hour ends it.
 */
export function dueActions(ledger: Effects, time: number): SystemAction[] {
  const isOver = ({ status, expiration }: Offer) => status === 'open' && expiration < time;
  const expiring = [
    ...ledger.liveOffers('order', isOver),
    ...ledger.liveOffers('swap', isOver),
    ...ledger.liveOffers('dispenser', isOver)
  ].sort((a, b) => a.index - b.index);
  const unpaid = ledger.liveOffers('coinpay', ({ expiration }) => expiration <= time);
  const closing = ledger
    .liveOffers('dispenser', ({ closesAt }) => closesAt !== null && closesAt <= time)
    .sort((a, b) => a.closesAt! - b.closesAt! || a.index - b.index);
  return [
    ...expiring.map((offer) => (offer.kind === 'dispenser' ? expireDispenser(offer) : expireTrade(offer))),
    ...unpaid.map((owed) => expireObligation(owed, ledger.offer('order', owed.seller)!.source)),
    ...closing.map((dispenser) => closeDispenser(dispenser, 'cancelled'))
  ];
}
