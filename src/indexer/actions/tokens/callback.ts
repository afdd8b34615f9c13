import { formatAmount, multiplyFloor } from '../../../consensus/amount.ts';
import { spent } from '../../fees/charge.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import {
  fitsPlaces,
  isExcluded,
  lookChecks,
  MEMO_CHECKS,
  once,
  orNull,
  ownershipEscrowed,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown
} from '../../rules/checks.ts';
import type { Token } from '../../state/token.ts';

interface Callback {
  readonly token: Token | null;
  /** Token in which the holders are paid. */
  readonly paid: Token | null;
  readonly memo: string;
  /** Returns the holders other than the source. They are read at the first call. */
  readonly holders: (step: Step) => readonly { readonly address: string; readonly amount: bigint }[];
}

function read({ action, ledger }: Step): Callback[] {
  const { get } = action.fields;
  const token = ledger.token(get('TICK'));
  const paid = token?.callbackTick == null ? null : ledger.token(token.callbackTick);
  const holders = once(({ action: { source }, ledger: now }: Step) =>
    now.holders(token!).filter(({ address }) => address !== source)
  );
  return [{ token, paid, memo: get('MEMO'), holders }];
}

/** Returns whether there is an amount, and its token still has the decimals that the amount needs. */
function isPayable({ callbackAmount }: Token, paid: Token): boolean {
  return callbackAmount !== null && fitsPlaces(callbackAmount, paid);
}

function shareOf({ token, paid }: Callback, held: bigint): bigint {
  return multiplyFloor(held, token!.callbackAmount!, paid!.decimals);
}

function totalOf(callback: Callback, step: Step): bigint {
  return callback.holders(step).reduce((sum, { amount }) => sum + shareOf(callback, amount), 0n);
}

/** Takes all units back to the owner, who pays the promised amount for each. */
export const CALLBACK = defineAction<Callback>({
  name: 'CALLBACK',
  table: 'callbacks',
  formats: { 0: 'TICK|MEMO' },
  read,
  checks: [
    tickUnknown,
    ['CALLBACK_TICK (unknown)', ({ paid }) => paid === null],
    ['LOCK_CALLBACK', ({ token }) => token!.locks.lock_callback],
    ['SOURCE (not authorized)', ({ token }, { action }) => token!.owner !== action.source],
    ownershipEscrowed,
    ['CALLBACK_BLOCK (format)', ({ token }) => token!.callbackBlock === null],
    ['CALLBACK_AMOUNT (format)', ({ token, paid }) => !isPayable(token!, paid!)],
    sourceSleeps,
    tickSleeps,
    [
      'CALLBACK_TICK (sleeping)',
      ({ paid }, { action, ledger }) => ledger.isAsleep('tick', paid!.tick, action.block.height)
    ],
    ['CALLBACK_BLOCK (block index)', ({ token }, { action }) => token!.callbackBlock! > action.block.height],
    ...MEMO_CHECKS,
    ...lookChecks<Callback>('RECIPIENTS', ({ holders }, step) => holders(step).length),
    [
      'CALLBACK_TICK (holder not authorized)',
      (callback, step) => callback.holders(step).some(({ address }) => isExcluded(step.ledger, callback.paid!, address))
    ],
    [
      'insufficient funds (CALLBACK_TICK)',
      (callback, step) => step.ledger.balance(callback.paid!.tick, step.action.source) < totalOf(callback, step)
    ]
  ],
  charges: (callback, step) => ({
    recipients: callback.holders(step).length,
    ...spent(callback.paid!, totalOf(callback, step), step)
  }),
  row: ({ token, paid, memo }, step) => ({
    tick_id: tickColumn(step, step.action.fields.get('TICK'), token),
    callback_tick_id: paid?.tick ?? null,
    callback_amount: token?.callbackAmount == null ? null : formatAmount(token.callbackAmount),
    memo_id: orNull(memo)
  }),
  apply: (callback, step) => {
    const { action, ledger } = step;
    const { token, paid } = callback;
    const holders = callback.holders(step);
    ledger.looked += holders.length; // each also writes which addresses it touched
    const total = totalOf(callback, step);
    for (const { address, amount } of holders) {
      ledger.debit(token!, address, amount);
      ledger.credit(token!, action.source, amount);
      const share = shareOf(callback, amount);
      if (share > 0n) ledger.credit(paid!, address, share);
    }
    if (total > 0n) ledger.debit(paid!, action.source, total);
  }
});
