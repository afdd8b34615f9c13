import type { Check } from '../rules/action-definition.ts';
import { isBarred, MEMO_CHECKS, sourceSleeps } from '../rules/checks.ts';
import type { Token } from '../state/state.ts';

/** What an offer gives, as far as the checks ask. */
export interface Giver {
  readonly give: {
    readonly token: Token | null;
    readonly amountText: string;
    readonly amount: bigint | null;
    readonly ownership: string;
  };
  readonly memo: string;
}

const givesOwnership = ({ give }: Giver) => give.ownership === '1';

/** What may be given: units, or an ownership that is the source's and free. */
export const ownershipChecks: readonly Check<Giver>[] = [
  ['GIVE_TICK (native coin has no ownership)', (leg) => givesOwnership(leg) && leg.give.token === null],
  ['GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)', (leg) => givesOwnership(leg) && leg.give.amountText !== ''],
  ['SOURCE (not GIVE_TICK owner)', (leg, { action }) => givesOwnership(leg) && leg.give.token!.owner !== action.source],
  [
    'GIVE_TICK (ownership already escrowed)',
    (leg) => givesOwnership(leg) && leg.give.token!.escrowActionIndex !== null
  ],
  ['GIVE_AMOUNT (required and greater than 0 when GIVE_OWNERSHIP=0)', (leg) => !givesOwnership(leg) && !leg.give.amount]
];

/** Whether the source may offer the token now. */
export const MARKET_CHECKS: readonly Check<Giver>[] = [
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
