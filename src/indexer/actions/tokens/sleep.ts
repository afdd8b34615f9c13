import { defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, ownershipEscrowed, sourceSleeps, tickColumn } from '../../rules/checks.ts';
import { sleeperKey } from '../../state/keys.ts';
import type { Token } from '../../state/token.ts';

interface Sleep {
  readonly resumeBlock: string;
  /** Token of the other format; null where the field names none. */
  readonly token: Token | null;
  readonly isOfToken: boolean;
  readonly memo: string;
}

const ADDRESS_SLEEPS = 1;
const TICK_SLEEPS = 2;

function read({ action, ledger }: Step): Sleep[] {
  const { get } = action.fields;
  return [
    {
      resumeBlock: get('RESUME_BLOCK'),
      isOfToken: action.format === 1,
      token: action.format === 1 ? ledger.token(get('TICK')) : null,
      memo: get('MEMO')
    }
  ];
}

/** Stops an address from acting, or a token from being moved, until a block. -1 is for ever, 0 wakes now. */
export const SLEEP = defineAction<Sleep>({
  name: 'SLEEP',
  table: 'sleeps',
  formats: { 0: 'RESUME_BLOCK|MEMO', 1: 'RESUME_BLOCK|TICK|MEMO' },
  read,
  checks: [
    ['TICK (unknown)', ({ isOfToken, token }) => isOfToken && token === null],
    ['RESUME_BLOCK (format)', ({ resumeBlock }) => !/^-?\d{1,15}$/.test(resumeBlock)],
    [
      'RESUME_BLOCK (block_index)',
      ({ resumeBlock }, { action }) =>
        ![-1, 0].includes(Number(resumeBlock)) && Number(resumeBlock) < action.block.height
    ],
    sourceSleeps,
    ['TICK (not authorized)', ({ isOfToken, token }, { action }) => isOfToken && token!.owner !== action.source],
    ['LOCK_SLEEP', ({ token }) => token?.locks.lock_sleep === true],
    ownershipEscrowed,
    ...MEMO_CHECKS
  ],
  row: ({ resumeBlock, token, isOfToken, memo }, step) => ({
    type: isOfToken ? TICK_SLEEPS : ADDRESS_SLEEPS,
    tick_id: isOfToken ? tickColumn(step, step.action.fields.get('TICK'), token) : null,
    resume_block: orNull(resumeBlock),
    memo_id: orNull(memo)
  }),
  apply: ({ resumeBlock, token }, { action, ledger }) => {
    const key = token ? sleeperKey('tick', token.tick) : sleeperKey('address', action.source);
    ledger.set('sleep', key, Number(resumeBlock));
  }
});
