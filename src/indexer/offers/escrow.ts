import { type Step, VALID } from '../rules/action-definition.ts';
import { writeOwnership } from '../rules/ownership.ts';
import type { Side } from '../state/offer.ts';

/**
 * Takes a side of an offer from an address into escrow, under the action of the step. The chain's own coin is not
 * taken.
 */
export function holdSide({ tick, amount, isOwnership }: Side, from: string, { action, ledger }: Step): void {
  if (tick === null || amount === 0n) return;
  const token = ledger.token(tick)!;
  if (isOwnership) {
    ledger.setToken({ ...token, escrowActionIndex: action.index });
    return;
  }
  ledger.debit(token, from, amount);
  ledger.escrow(token, from, amount);
}

/** Hands a side of an offer over from escrow. @param named owner of the escrow in the row */
export function giveSide(
  { tick, amount, isOwnership }: Side,
  { named, to }: { readonly named: string; readonly to: string },
  step: Step
): void {
  if (tick === null || amount === 0n) return;
  const { ledger } = step;
  const token = ledger.token(tick)!;
  if (isOwnership && token.owner === to) ledger.setToken({ ...token, escrowActionIndex: null });
  else if (isOwnership) writeOwnership(token, to, step, VALID);
  else {
    ledger.escrow(token, named, -amount);
    ledger.credit(token, to, amount);
  }
}
