import type { SystemAction } from '../rules/action-definition.ts';
import type { Effects } from '../state/effects.ts';
import { expireObligation } from './coinpay.ts';
import { closeDispenser, expireDispenser } from './dispenser-end.ts';
import type { Offer } from './offer.ts';
import { expireTrade } from './trade-end.ts';

/** What ends with a block of a time: offers by their expiration, payments that are awaited, dispensers that were cancelled. */
export function dueActions(ledger: Effects, time: number): SystemAction[] {
  const due = <O extends Offer>(offers: readonly O[]) =>
    offers
      .filter(({ expiration }) => expiration <= time)
      .sort((a, b) => a.expiration - b.expiration || a.index - b.index);
  const isOpen = ({ status }: Offer) => status === 'open';
  const dispensers = ledger.liveOffers('dispenser');
  const closing = dispensers
    .filter(({ closesAt }) => closesAt !== null && closesAt <= time)
    .sort((a, b) => a.closesAt! - b.closesAt! || a.index - b.index);
  return [
    ...due(ledger.liveOffers('order').filter(isOpen)).map(expireTrade),
    ...due(ledger.liveOffers('swap').filter(isOpen)).map(expireTrade),
    ...due(dispensers).map(expireDispenser),
    ...due(ledger.liveOffers('coinpay')).map((owed) =>
      expireObligation(owed, ledger.offer('order', owed.seller)!.source)
    ),
    ...closing.map((dispenser) => closeDispenser(dispenser, 'cancelled'))
  ];
}
