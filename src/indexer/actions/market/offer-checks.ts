import { isOwnership, type OfferSides } from '../../offers/side-fields.ts';
import type { Check } from '../../rules/action-definition.ts';
import { isBarred, MEMO_CHECKS, sourceSleeps } from '../../rules/checks.ts';
import { COINS } from '../../rules/rules.ts';

/** What the checks of a new offer ask. */
interface NewOffer extends OfferSides {
  readonly memo: string;
}

/** Coins that are known, and a GIVE on this chain. */
export const COIN_CHECKS: readonly Check<OfferSides>[] = [
  ['GIVE_COIN (unsupported COIN network)', ({ give }) => !COINS.has(give.coin)],
  ['GET_COIN (unsupported COIN network)', ({ get }) => !COINS.has(get.coin)],
  ['GIVE_COIN (network)', ({ give }, { rules }) => give.coin !== rules.coin]
];

/** Whether the amount of a side is none of its token. */
export const amountFormat = (side: 'give' | 'get'): Check<OfferSides> => [
  `${side.toUpperCase()}_AMOUNT (format)`,
  ({ [side]: { amount, amountText } }) => amountText !== '' && amount === null
];

/** Whether the mark of an ownership is neither 0 nor 1. */
export const ownershipFormat = (side: 'give' | 'get'): Check<OfferSides> => [
  `${side.toUpperCase()}_OWNERSHIP (format)`,
  ({ [side]: { ownership } }) => !/^[01]?$/.test(ownership)
];

const givesOwnership = ({ give }: OfferSides) => isOwnership(give);

/** No amount beside an ownership. */
export const ownershipAlone: Check<OfferSides> = [
  'GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)',
  (leg) => givesOwnership(leg) && leg.give.amountText !== ''
];

/** What may be given: units, or an ownership that is the source's and free. */
export const ownershipChecks: readonly Check<OfferSides>[] = [
  ['SOURCE (not GIVE_TICK owner)', (leg, { action }) => givesOwnership(leg) && leg.give.token!.owner !== action.source],
  [
    'GIVE_TICK (ownership already escrowed)',
    (leg) => givesOwnership(leg) && leg.give.token!.escrowActionIndex !== null
  ],
  ['GIVE_AMOUNT (required and greater than 0 when GIVE_OWNERSHIP=0)', (leg) => !givesOwnership(leg) && !leg.give.amount]
];

/** Whether the source may offer the token now. */
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
    ({ give: { token } }, { action, ledger }) => token !== null && isBarred(ledger, token, action.source)
  ]
];
