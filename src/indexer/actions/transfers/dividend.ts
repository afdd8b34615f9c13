import { formatAmount, multiplyFloor } from '../../../consensus/amount.ts';
import { spent } from '../../fees/charge.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import {
  isExcluded,
  lookChecks,
  MEMO_CHECKS,
  once,
  orNull,
  readAmount,
  requestTransfers,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown
} from '../../rules/checks.ts';
import type { Token } from '../../state/token.ts';

interface Dividend {
  readonly token: Token | null;
  readonly paid: Token | null;
  readonly amountText: string;
  readonly amount: bigint | null;
  readonly memo: string;
  readonly holders: Holders;
}
type Holders = (step: Step) => readonly { readonly address: string; readonly amount: bigint }[];

function read(step: Step): Dividend[] {
  const { action, ledger } = step;
  const { get } = action.fields;
  requestTransfers(
    step,
    [get('TICK'), get('DIVIDEND_TICK')].map((tick) => [tick, ''])
  );
  const paid = ledger.token(get('DIVIDEND_TICK'));
  const token = ledger.token(get('TICK'));
  return [
    {
      token,
      paid,
      amountText: get('AMOUNT'),
      amount: readAmount(get('AMOUNT'), paid),
      memo: get('MEMO'),
      holders: once((step) => step.ledger.holders(token!))
    }
  ];
}

/** Returns the holders that may get something; none for an amount of 0. */
function holdersOf({ amount, holders }: Dividend, step: Step) {
  return amount === 0n ? [] : holders(step);
}

/** Returns the share of each holder above 0, without the source and those that the lists of the paid token exclude. */
function sharesOf(dividend: Dividend, step: Step) {
  const { amount, paid } = dividend;
  const { action, ledger } = step;
  return holdersOf(dividend, step)
    .map((holder) => ({ address: holder.address, share: multiplyFloor(holder.amount, amount!, paid!.decimals) }))
    .filter(({ address, share }) => share > 0n && address !== action.source && !isExcluded(ledger, paid!, address));
}

function totalOf(dividend: Dividend, step: Step): bigint {
  return sharesOf(dividend, step).reduce((sum, { share }) => sum + share, 0n);
}

/** Pays the holders of a token in proportion to their holdings. Anybody may pay. */
export const DIVIDEND = defineAction<Dividend>({
  name: 'DIVIDEND',
  table: 'dividends',
  formats: { 0: 'TICK|DIVIDEND_TICK|AMOUNT|MEMO' },
  read,
  checks: [
    tickUnknown,
    ['DIVIDEND_TICK (unknown)', ({ paid }) => paid === null],
    ['AMOUNT (format)', ({ amount }) => amount === null],
    sourceSleeps,
    tickSleeps,
    [
      'DIVIDEND_TICK (sleeping)',
      ({ paid }, { action, ledger }) => ledger.isAsleep('tick', paid!.tick, action.block.height)
    ],
    ...MEMO_CHECKS,
    ...lookChecks<Dividend>(
      'RECIPIENTS',
      (dividend, step) => holdersOf(dividend, step).length,
      (dividend, step) => sharesOf(dividend, step).length
    ),
    [
      'insufficient funds (TICK)',
      (dividend, step) => step.ledger.balance(dividend.paid!.tick, step.action.source) < totalOf(dividend, step)
    ]
  ],
  charges: (dividend, step) => ({
    recipients: sharesOf(dividend, step).length,
    ...spent(dividend.paid!, totalOf(dividend, step), step)
  }),
  row: ({ token, paid, amountText, amount, memo }, step) => ({
    tick_id: tickColumn(step, step.action.fields.get('TICK'), token),
    dividend_tick_id: tickColumn(step, step.action.fields.get('DIVIDEND_TICK'), paid),
    amount: amount === null ? orNull(amountText) : formatAmount(amount),
    memo_id: orNull(memo)
  }),
  apply: (dividend, step) => {
    const shares = sharesOf(dividend, step);
    if (shares.length === 0) return;
    step.ledger.debit(dividend.paid!, step.action.source, totalOf(dividend, step));
    for (const { address, share } of shares) step.ledger.credit(dividend.paid!, address, share);
  }
});
