import type { SystemAction } from '../rules/action-definition.ts';
import type { Effects } from '../state/effects.ts';
import { expireObligation } from './coinpay.ts';
import { closeDispenser, expireDispenser } from './dispenser-end.ts';
import type { Dispenser, Offer, Trade } from './offer.ts';
import { expireTrade } from './trade-end.ts';

const byIndex = (a: Offer, b: Offer) => a.index - b.index;
const byEnd = (a: Offer, b: Offer) => a.expiration - b.expiration || byIndex(a, b);

/** Units of an end: its action, what leaves the escrow and what is credited. */
const UNITS = 3;
/** The part of its units that a block without room has for ends nevertheless, so that all that wait come to theirs. */
const LEAST_PART = 150;

/**
 * What ends with a block of a time: open offers that expired before it, in the order of their actions, then awaited payments
 * whose time is over, then dispensers that were cancelled an hour ago. A cancelled dispenser does not expire: its hour ends it.
 *
 * @param units  of a block, and those that it has room for. What ends last of more offers waits for the next block, and is open until then.
 */
export function dueActions(
  ledger: Effects,
  time: number,
  units: { readonly all: number; readonly left: number }
): SystemAction[] {
  const most = Math.max(Math.ceil(units.all / LEAST_PART), Math.floor(units.left / UNITS));
  const expiring = (['order', 'swap', 'dispenser'] as const)
    .flatMap((kind): (Trade | Dispenser)[] => ledger.offersEnding(kind, time - 1, most))
    .sort(byEnd)
    .slice(0, most)
    .sort(byIndex);
  const unpaid = ledger.offersEnding('coinpay', time, most - expiring.length).sort(byIndex);
  const closing = ledger.dispensersClosing(time, most - expiring.length - unpaid.length);
  return [
    ...expiring.map((offer) => (offer.kind === 'dispenser' ? expireDispenser(offer) : expireTrade(offer))),
    ...unpaid.map((owed) => expireObligation(owed, ledger.offer('order', owed.seller)!.source)),
    ...closing.map((dispenser) => closeDispenser(dispenser, 'cancelled'))
  ];
}
