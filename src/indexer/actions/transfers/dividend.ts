import { formatAmount, multiplyFloor } from '../../../consensus/amount.ts';
import { spent } from '../../fees/charge.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import {
  isBeyondShare,
  isExcluded,
  LOOKS_OF_HOLDING,
  lookAt,
  MEMO_CHECKS,
  mayAskLists,
  mostHolders,
  once,
  orNull,
  readAmount,
  requestTransfers,
  seenCheck,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown
} from '../../rules/checks.ts';
import { type Holding, withMost } from '../../state/holding.ts';
import type { Token } from '../../state/token.ts';

interface Dividend {
  readonly token: Token | null;
  readonly paid: Token | null;
  readonly amountText: string;
  readonly amount: bigint | null;
  readonly memo: string;
  /**
   * Returns the amounts that holders get; null where they are more than a block may look at. They are read at the first
   * call.
   */
  readonly shares: (step: Step) => readonly Holding[] | null;
}

function read(step: Step): Dividend[] {
  const { action, ledger } = step;
  const { get } = action.fields;
  requestTransfers(
    step,
    [get('TICK'), get('DIVIDEND_TICK')].map((tick) => [tick, ''])
  );
  const paid = ledger.token(get('DIVIDEND_TICK'));
  const token = ledger.token(get('TICK'));
  const amount = readAmount(get('AMOUNT'), paid);
  return [
    {
      token,
      paid,
      amountText: get('AMOUNT'),
      amount,
      memo: get('MEMO'),
      shares: once((step) => findShares({ token: token!, paid: paid!, amount: amount! }, step))
    }
  ];
}

interface Payment {
  readonly token: Token;
  readonly paid: Token;
  readonly amount: bigint;
}

/**
 * Returns the shares above 0 of holders, without the source and those that the lists of the paid token exclude: the
 * greatest ones, as many as an action may be about. Returns null where the block may not look at so many holders, or not
 * ask the lists about them.
 */
function findShares({ token, paid, amount }: Payment, step: Step): readonly Holding[] | null {
  const { action, ledger, limits } = step;
  if (amount === 0n) return [];
  const holders = ledger.holders(token, mostHolders(step));
  if (holders === null) return null;
  lookAt(LOOKS_OF_HOLDING * holders.length, step);
  const payees = holders
    .map((holder) => ({ address: holder.address, amount: multiplyFloor(holder.amount, amount, paid.decimals) }))
    .filter((share) => share.amount > 0n && share.address !== action.source);
  const addresses = payees.map(({ address }) => address);
  if (!mayAskLists(paid, addresses, step)) return null;
  const shares = payees.filter(({ address }) => !isExcluded(ledger, paid, address));
  return withMost(shares, limits.parts);
}

function totalOf({ shares }: Dividend, step: Step): bigint {
  return shares(step)!.reduce((sum, { amount }) => sum + amount, 0n);
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
    seenCheck('RECIPIENTS', ({ shares }, step) => shares(step) === null || isBeyondShare(shares(step)!.length, step)),
    [
      'insufficient funds (TICK)',
      (dividend, step) => step.ledger.balance(dividend.paid!.tick, step.action.source) < totalOf(dividend, step)
    ]
  ],
  charges: (dividend, step) => ({
    recipients: dividend.shares(step)!.length,
    ...spent(dividend.paid!, totalOf(dividend, step), step)
  }),
  row: ({ token, paid, amountText, amount, memo }, step) => ({
    tick_id: tickColumn(step, step.action.fields.get('TICK'), token),
    dividend_tick_id: tickColumn(step, step.action.fields.get('DIVIDEND_TICK'), paid),
    amount: amount === null ? orNull(amountText) : formatAmount(amount),
    memo_id: orNull(memo)
  }),
  apply: (dividend, step) => {
    const shares = dividend.shares(step)!;
    if (shares.length === 0) return;
    step.ledger.requestCredits(
      dividend.paid!,
      shares.map(({ address }) => address)
    );
    step.ledger.debit(dividend.paid!, step.action.source, totalOf(dividend, step));
    for (const { address, amount } of shares) step.ledger.credit(dividend.paid!, address, amount);
  }
});
