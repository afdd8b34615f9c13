import { isOwnership, type OfferSides } from '../../offers/side-fields.ts';
import { COINS } from '../../profile/rules.ts';
import type { Check } from '../../rules/action-definition.ts';
import { isExcluded, MEMO_CHECKS, sourceSleeps } from '../../rules/checks.ts';

/** New offer, as its checks read it. */
interface NewOffer extends OfferSides {
  readonly memo: string;
}

/** Checks that both coins are known, and that GIVE is on this chain. */
export const COIN_CHECKS: readonly Check<OfferSides>[] = [
  ['GIVE_COIN (unsupported COIN network)', ({ give }) => !COINS.has(give.coin)],
  ['GET_COIN (unsupported COIN network)', ({ get }) => !COINS.has(get.coin)],
  ['GIVE_COIN (network)', ({ give }, { rules }) => give.coin !== rules.coin]
];

/** Returns the check that the amount of a side is an amount of its token. */
export const amountFormat = (side: 'give' | 'get'): Check<OfferSides> => [
  `${side.toUpperCase()}_AMOUNT (format)`,
  ({ [side]: { amount, amountText } }) => amountText !== '' && amount === null
];

/** Returns the check that the mark of an ownership is 0 or 1. */
export const ownershipFormat = (side: 'give' | 'get'): Check<OfferSides> => [
  `${side.toUpperCase()}_OWNERSHIP (format)`,
  ({ [side]: { ownership } }) => !/^[01]?$/.test(ownership)
];

const givesOwnership = ({ give }: OfferSides) => isOwnership(give);

/** Check that no amount is given beside an ownership. */
export const ownershipAlone: Check<OfferSides> = [
  'GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)',
  (leg) => givesOwnership(leg) && leg.give.amountText !== ''
];

/** Checks that the side to give is units, or an ownership that is the source's and free. */
export const ownershipChecks: readonly Check<OfferSides>[] = [
  ['SOURCE (not GIVE_TICK owner)', (leg, { action }) => givesOwnership(leg) && leg.give.token!.owner !== action.source],
  [
    'GIVE_TICK (ownership already escrowed)',
    (leg) => givesOwnership(leg) && leg.give.token!.escrowActionIndex !== null
  ],
  ['GIVE_AMOUNT (required and greater than 0 when GIVE_OWNERSHIP=0)', (leg) => !givesOwnership(leg) && !leg.give.amount]
];

/** Checks that the source may offer the token now. */
export const MARKET_CHECKS: readonly Check<NewOffer>[] = [
  sourceSleeps,
  [
    'TICK (sleeping)',
    ({ give: { token } }, { action, ledger }) =>
      token !== null && ledger.isAsleep('tick', token.tick, action.block.height)
  ],
  ...MEMO_CHECKS,
  [
    'SOURCE (not authorized)',
    ({ give: { token } }, { action, ledger }) => token !== null && isExcluded(ledger, token, action.source)
  ]
];
