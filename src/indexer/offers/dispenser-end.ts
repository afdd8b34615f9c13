import { type Step, type SystemAction, VALID } from '../rules/action-definition.ts';
import { type Dispenser, isLive } from '../state/offer.ts';
import { DISPENSER_DELAY_S } from './delays.ts';
import { giveSide } from './escrow.ts';

/** Writes a dispenser with a new status, under the action of the step. */
export function setDispenserStatus(dispenser: Dispenser, status: string, { action, ledger }: Step, by?: string): void {
  ledger.record('dispenser_statuses', {
    action_index: action.index,
    dispenser_action_index: dispenser.index,
    cancelled_by_id: by ?? null,
    status_id: status
  });
  ledger.setOffer({ ...dispenser, status });
}

/**
 * Returns whether a dispenser should have ended with the block below, which had no room. Decoders no longer keep
 * payments to it.
 */
export function isOverdue(
  { status, expiration, closesAt }: Dispenser,
  { timeBelow }: Step['action']['block']
): boolean {
  return status === 'open' ? expiration < timeBelow : closesAt !== null && closesAt <= timeBelow;
}

/** Cancels a dispenser. It sells for another hour; then the rest goes to the refund address. */
export function cancelDispenser(dispenser: Dispenser, refundAddress: string, step: Step): void {
  const closesAt = step.action.block.time + DISPENSER_DELAY_S;
  setDispenserStatus({ ...dispenser, closesAt, refundAddress }, 'cancelling', step, refundAddress);
}

/** Closes a live dispenser: it is empty, has served too often, or was cancelled an hour ago. */
export function closeDispenser(
  { index, source }: Dispenser,
  status: 'empty' | 'max_dispenses_reached' | 'cancelled'
): SystemAction {
  return {
    name: 'DISPENSER_CLOSE',
    source,
    run: (step) => end(index, { table: 'dispenser_closes', verdict: status, status }, step)
  };
}

/** Ends a dispenser whose time is over. */
export function expireDispenser({ index, source }: Dispenser): SystemAction {
  return {
    name: 'DISPENSER_EXPIRE',
    source,
    run: (step) => end(index, { table: 'dispenser_expires', verdict: VALID, status: 'expired' }, step)
  };
}

function end(
  index: number,
  { table, verdict, status }: { readonly table: string; readonly verdict: string; readonly status: string },
  step: Step
): boolean {
  const { action, ledger } = step;
  const dispenser = ledger.offer('dispenser', index);
  if (!dispenser || !isLive(dispenser)) return false;
  ledger.record(table, { action_index: action.index, dispenser_action_index: index, status_id: verdict });
  const to = dispenser.refundAddress;
  giveSide({ ...dispenser.give, amount: dispenser.left }, { named: to, to }, step);
  setDispenserStatus({ ...dispenser, left: 0n }, status, step);
  return true;
}
