import { formatAmount } from '../../../consensus/amount.ts';
import { floorGas, readGas } from '../../fees/gas-places.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { sourceSleeps } from '../../rules/checks.ts';
import { bitcoinOnly, hasStake, ownKeysSeen } from '../../staking/checks.ts';

interface Claim {
  readonly amountText: string;
  /** Amount; everything unclaimed where the text is empty, null for a badly formed one. */
  readonly amount: bigint | null;
  readonly unclaimed: bigint;
}

function read(step: Step): Claim[] {
  const { action, ledger } = step;
  const amountText = action.fields.get('AMOUNT');
  const unclaimed = ledger.get('unclaimed', action.source);
  return [{ amountText, amount: amountText === '' ? floorGas(unclaimed, step) : readGas(amountText, step), unclaimed }];
}

/** Pays a staker the earnings of its keys, out of the pool of rewards. */
export const COLLECT = defineAction<Claim>({
  name: 'COLLECT',
  table: 'reward_claims',
  formats: { 0: 'AMOUNT' },
  read,
  checks: [
    bitcoinOnly,
    ownKeysSeen,
    ['no active stake', (_, { action, ledger }) => !hasStake(action.source, ledger, action.block.height)],
    sourceSleeps,
    ['no unclaimed rewards', ({ unclaimed }) => unclaimed <= 0n],
    ['AMOUNT (format)', ({ amount }) => amount === null],
    ['AMOUNT (must be greater than 0)', ({ amount }) => amount === 0n],
    ['AMOUNT (exceeds unclaimed rewards)', ({ amount, unclaimed }) => amount! > unclaimed],
    [
      'insufficient reward pool',
      ({ amount }, { ledger, rules }) =>
        rules.rewardPool === undefined || ledger.balance(rules.gasTick, rules.rewardPool) < amount!
    ]
  ],
  row: ({ amountText, amount }, { action }) => ({
    source_id: action.source,
    amount: amount === null ? amountText : formatAmount(amount),
    block_index: action.block.height
  }),
  apply: ({ amount, unclaimed }, { action, ledger, rules }) => {
    const gas = ledger.token(rules.gasTick)!;
    ledger.debit(gas, rules.rewardPool!, amount!);
    ledger.credit(gas, action.source, amount!);
    ledger.set('unclaimed', action.source, unclaimed - amount!);
  }
});
