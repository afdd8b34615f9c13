import { formatAmount, multiplyFloor } from '../../../consensus/amount.ts';
import { spent } from '../../fees/charge.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import {
  fitsPlaces,
  hasLimits,
  isExcluded,
  LOOKS_OF_HOLDING,
  lookAt,
  MEMO_CHECKS,
  mayAskLists,
  mostHolders,
  mostItems,
  once,
  orNull,
  ownershipEscrowed,
  seenCheck,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown
} from '../../rules/checks.ts';
import { type Holding, withMost } from '../../state/holding.ts';
import type { Token } from '../../state/token.ts';

/** Units of a holder who is called: a debit, what he is paid, and one more for the addresses that it touched. */
const UNITS_OF_HOLDER = 3;

interface Callback {
  readonly token: Token | null;
  /** Token in which the holders are paid. */
  readonly paid: Token | null;
  readonly memo: string;
  /**
   * Returns the holders from whom it takes; null where they are more than a block may look at. They are read at the first
   * call.
   */
  readonly holders: (step: Step) => Holders | null;
}

/** Holders from whom a CALLBACK takes. */
interface Holders {
  readonly called: readonly Holding[];
  /** Whether the lists of the token in which holders are paid exclude so many that it is refused. */
  readonly areBarred: boolean;
}

function read({ action, ledger }: Step): Callback[] {
  const { get } = action.fields;
  const token = ledger.token(get('TICK'));
  const paid = token?.callbackTick == null ? null : ledger.token(token.callbackTick);
  return [{ token, paid, memo: get('MEMO'), holders: once((step) => findHolders(token!, paid!, step)) }];
}

/**
 * Returns the holders other than the source. Where limits hold, those that may not be paid are passed over, and of the
 * others those with the most units are called: as many as an action may move. So nobody keeps an owner from a
 * CALLBACK by a gift to very many, or to one that may not be paid. Returns null where the block may not look at so many,
 * or not ask the lists about them.
 */
function findHolders(token: Token, paid: Token, step: Step): Holders | null {
  const { action, ledger } = step;
  const holders = ledger.holders(token, mostHolders(step));
  if (holders === null) return null;
  const others = holders.filter(({ address }) => address !== action.source);
  lookAt(LOOKS_OF_HOLDING * others.length, step);
  const addresses = others.map(({ address }) => address);
  if (!mayAskLists(paid, addresses, step)) return null;
  const payable = others.filter(({ address }) => !isExcluded(ledger, paid, address));
  if (!hasLimits(step)) return { called: others, areBarred: payable.length < others.length };
  return {
    called: withMost(payable, mostItems(UNITS_OF_HOLDER, step)),
    areBarred: payable.length === 0 && others.length > 0
  };
}

/** Returns whether there is an amount, and its token still has the decimals that the amount needs. */
function isPayable({ callbackAmount }: Token, paid: Token): boolean {
  return callbackAmount !== null && fitsPlaces(callbackAmount, paid);
}

function shareOf({ token, paid }: Callback, held: bigint): bigint {
  return multiplyFloor(held, token!.callbackAmount!, paid!.decimals);
}

function totalOf(callback: Callback, step: Step): bigint {
  return callback.holders(step)!.called.reduce((sum, { amount }) => sum + shareOf(callback, amount), 0n);
}

/** Takes units back to the owner, who pays the promised amount for each. */
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
    seenCheck('RECIPIENTS', ({ holders }, step) => holders(step) === null),
    ['CALLBACK_TICK (holder not authorized)', ({ holders }, step) => holders(step)!.areBarred],
    [
      'insufficient funds (CALLBACK_TICK)',
      (callback, step) => step.ledger.balance(callback.paid!.tick, step.action.source) < totalOf(callback, step)
    ]
  ],
  charges: (callback, step) => ({
    recipients: callback.holders(step)!.called.length,
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
    const { called } = callback.holders(step)!;
    ledger.looked += called.length; // each also writes which addresses it touched
    const total = totalOf(callback, step);
    ledger.requestCredits(
      paid!,
      called.map(({ address }) => address)
    );
    for (const { address, amount } of called) {
      ledger.debit(token!, address, amount);
      ledger.credit(token!, action.source, amount);
      const share = shareOf(callback, amount);
      if (share > 0n) ledger.credit(paid!, address, share);
    }
    if (total > 0n) ledger.debit(paid!, action.source, total);
  }
});
