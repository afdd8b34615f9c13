import { groupFields, groupWithMemo } from '../../../coin/action/fields.ts';
import { formatAmount } from '../../../consensus/amount.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import {
  MEMO_CHECKS,
  orNull,
  readAmount,
  requestTransfers,
  sourceExcluded,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown
} from '../../rules/checks.ts';
import { tickKey } from '../../state/keys.ts';
import type { Token } from '../../state/token.ts';

interface Leg {
  readonly tick: string;
  readonly token: Token | null;
  readonly amountText: string;
  readonly amount: bigint | null;
  readonly memo: string;
  readonly ordinal: number;
}

/** Returns TICK, AMOUNT and MEMO of each leg. */
function legsOf({ action: { format, fields } }: Step): string[][] {
  const { all } = fields;
  if (format === 2) return groupFields(all, 3);
  if (format === 0) return groupFields(all.slice(0, 3), 3);
  return groupWithMemo(all, 2);
}

function read(step: Step): Leg[] {
  const { ledger } = step;
  const groups = legsOf(step);
  requestTransfers(
    step,
    groups.map(([tick]) => [tick!, ''])
  );
  const legs = new Map<string, Leg>();
  for (const [place, [tick, amountText, memo]] of (groups.length > 0 ? groups : [['', '', '']]).entries()) {
    const token = ledger.token(tick!);
    const amount = readAmount(amountText!, token);
    const key = amount === null ? `leg ${place}` : `${tickKey(token?.tick ?? tick!)}|${memo}`;
    const { amount: sum = 0n, ordinal = legs.size } = legs.get(key) ?? {};
    const merged = amount === null ? null : (sum ?? 0n) + amount;
    legs.set(key, { tick: tick!, token, amountText: amountText!, amount: merged, memo: memo!, ordinal });
  }
  return [...legs.values()];
}

/** Destroys amounts of the source. Legs of equal token and memo are one. */
export const DESTROY = defineAction<Leg>({
  name: 'DESTROY',
  table: 'destroys',
  formats: { 0: 'TICK|AMOUNT|MEMO', 1: '(TICK|AMOUNT)+|MEMO', 2: '(TICK|AMOUNT|MEMO)+' },
  takesParts: true,
  read,
  checks: [
    tickUnknown,
    [
      'TICK (use XBRIDGE v1)',
      ({ token }, { rules }) => rules.coin !== 'BTC' && tickKey(token!.tick) === tickKey(rules.gasTick)
    ],
    ['AMOUNT (format)', ({ amount }) => amount === null],
    sourceSleeps,
    tickSleeps,
    ...MEMO_CHECKS,
    sourceExcluded,
    [
      'insufficient funds',
      ({ token, amount }, { action, ledger }) => ledger.balance(token!.tick, action.source) < amount!
    ]
  ],
  row: ({ tick, token, amountText, amount, memo, ordinal }, step) => ({
    tick_id: tickColumn(step, tick, token),
    amount: amount === null ? orNull(amountText) : formatAmount(amount),
    memo_id: orNull(memo),
    leg_ordinal: ordinal
  }),
  apply: ({ token, amount }, { action, ledger }) => ledger.debit(token!, action.source, amount!)
});
