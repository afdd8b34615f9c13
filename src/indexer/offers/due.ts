import type { SystemAction } from '../rules/action-definition.ts';
import { offerFact } from '../state/action-state.ts';
import type { Effects } from '../state/effects.ts';
import type { Dispenser, Offer, Trade } from '../state/offer.ts';
import { expireObligation } from './coinpay.ts';
import { closeDispenser, expireDispenser } from './dispenser-end.ts';
import { expireTrade } from './trade-end.ts';

const byIndex = (a: Offer, b: Offer) => a.index - b.index;
/** Returns the time at which an offer should end: its expiration, or the end of a cancelled dispenser's hour. */
const endOf = (offer: Offer) => (offer.kind === 'dispenser' && offer.closesAt) || offer.expiration;
const byEnd = (a: Offer, b: Offer) => endOf(a) - endOf(b) || byIndex(a, b);

/** Units of an end: its action, what leaves the escrow, and what is credited. */
const UNITS = 3;
/**
 * Divisor of a block's units: a block without room still ends at least that part, so that every end comes to its turn.
 */
const LEAST_PART = 150;

/**
 * Returns what ends with a block: open offers that expired before its time, in the order of their actions, then awaited
 * payments whose time is over, then dispensers that were cancelled an hour ago. A cancelled dispenser does not expire:
 * its hour ends it.
 *
 * @param units all units of a block, and those that are left. Offers beyond them, those with the latest ends, stay open
 *   until the next block.
 */
export function dueActions(
  ledger: Effects,
  time: number,
  units: { readonly all: number; readonly left: number }
): SystemAction[] {
  const most = Math.max(Math.ceil(units.all / LEAST_PART), Math.floor(units.left / UNITS));
  const expiring = (['order', 'swap', 'dispenser'] as const).flatMap((kind): (Trade | Dispenser)[] =>
    ledger.offersEnding(kind, time - 1, most)
  );
  const unpaid = ledger.offersEnding('coinpay', time, most);
  const closing = ledger.dispensersClosing(time, most);
  // Those that should have ended first, of whatever kind: no kind keeps another waiting.
  const first = [...expiring, ...unpaid, ...closing].sort(byEnd).slice(0, most);
  const chosen = new Set(first.map(({ index }) => index));
  const isChosen = ({ index }: Offer) => chosen.has(index);
  const owed = unpaid.filter(isChosen).sort(byIndex);
  ledger.request(owed.map(({ seller }) => offerFact(seller)));
  return [
    ...expiring
      .filter(isChosen)
      .sort(byIndex)
      .map((offer) => (offer.kind === 'dispenser' ? expireDispenser(offer) : expireTrade(offer))),
    ...owed.map((one) => expireObligation(one, ledger.offer('order', one.seller)!.source)),
    ...closing.filter(isChosen).map((dispenser) => closeDispenser(dispenser, 'cancelled'))
  ];
}
