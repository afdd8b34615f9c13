import type { SystemAction } from '../rules/action-definition.ts';
import type { Effects } from '../state/effects.ts';
import { expireObligation } from './coinpay.ts';
import { closeDispenser, expireDispenser } from './dispenser-end.ts';
import type { Offer, Trade } from './offer.ts';
import { expireTrade } from './trade-end.ts';

/** What ends with a block of a time: offers by their expiration, payments that are awaited, dispensers that were cancelled. */
export function dueActions(ledger: Effects, time: number): SystemAction[] {
  const isDue = ({ expiration }: Offer) => expiration <= time;
  const isOpenAndDue = (trade: Trade) => trade.status === 'open' && isDue(trade);
  const byExpiration = (a: Offer, b: Offer) => a.expiration - b.expiration || a.index - b.index;
  const closing = ledger
    .liveOffers('dispenser', ({ closesAt }) => closesAt !== null && closesAt <= time)
    .sort((a, b) => a.closesAt! - b.closesAt! || a.index - b.index);
  return [
    ...ledger.liveOffers('order', isOpenAndDue).sort(byExpiration).map(expireTrade),
    ...ledger.liveOffers('swap', isOpenAndDue).sort(byExpiration).map(expireTrade),
    ...ledger.liveOffers('dispenser', isDue).sort(byExpiration).map(expireDispenser),
    ...ledger
      .liveOffers('coinpay', isDue)
      .sort(byExpiration)
      .map((owed) => expireObligation(owed, ledger.offer('order', owed.seller)!.source)),
    ...closing.map((dispenser) => closeDispenser(dispenser, 'cancelled'))
  ];
}
