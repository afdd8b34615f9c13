import { defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, namedAddress, ownAddress, sourceSleeps, tickColumn, tickUnknown } from '../../rules/checks.ts';
import { pairKey } from '../../state/keys.ts';
import type { Token } from '../../state/token.ts';

interface Delegating {
  readonly token: Token | null;
  /** Delegate. An empty text ends a delegation, null is an `^id` that names nothing. */
  readonly delegate: string | null;
  readonly memo: string;
}

function read(step: Step): Delegating[] {
  const { action, ledger } = step;
  const { get } = action.fields;
  const delegate = namedAddress(step, get('DELEGATE_TO'));
  return [
    {
      token: ledger.token(get('TICK')),
      delegate: delegate === action.source ? '' : delegate,
      memo: get('MEMO')
    }
  ];
}

/** Lets another vote with the source's holding of a token, in the polls in which the source does not vote itself. */
export const VOTE_DELEGATION = defineAction<Delegating>({
  name: 'VOTE',
  table: 'vote_delegations',
  formats: { 3: 'TICK|DELEGATE_TO|MEMO' },
  read,
  checks: [
    ['DELEGATE_TO (unresolvable ^id)', ({ delegate }) => delegate === null],
    tickUnknown,
    ['DELEGATE_TO (format)', ({ delegate }, step) => delegate !== '' && ownAddress(step, delegate) === null],
    sourceSleeps,
    ...MEMO_CHECKS
  ],
  row: ({ token, delegate }, step) => ({
    block_index: step.action.block.height,
    tick_id: tickColumn(step, step.action.fields.get('TICK'), token),
    delegator_address_id: step.action.source,
    delegate_address_id: ownAddress(step, delegate)
  }),
  apply: ({ token, delegate }, { action, ledger }) => {
    ledger.set('voteDelegate', pairKey(token!.tick, action.source), delegate || null);
  }
});
