import type { Step, SystemAction } from '../rules/action-definition.ts';
import type { Trade } from '../state/offer.ts';
import { giveSide } from './escrow.ts';
import { isUsedUp } from './fill.ts';

type Ending = 'cancelled' | 'expired';
const PENDING: Readonly<Record<Ending, string>> = { cancelled: 'cancelling', expired: 'expiring' };
const ENDED: Readonly<Record<string, Ending>> = { cancelling: 'cancelled', expiring: 'expired' };

/** Writes a trade with a new status, under the action of the step. */
export function setTradeStatus(trade: Trade, status: string, { action, ledger }: Step): void {
  ledger.record(`${trade.kind}_statuses`, {
    action_index: action.index,
    [`${trade.kind}_action_index`]: trade.index,
    status_id: status
  });
  ledger.setOffer({ ...trade, status });
}

/**
 * Ends an open trade: the rest that no match has used goes to an address. While payments are awaited it only stops
 * matching.
 */
export function endTrade(trade: Trade, ending: Ending, to: string, step: Step): void {
  returnRest(trade, to, step);
  setTradeStatus({ ...trade, refundAddress: to }, step.ledger.isAwaited(trade.index) ? PENDING[ending] : ending, step);
}

/** Sets the status of a trade after a match or the end of one. */
export function settleTrade(trade: Trade, step: Step): void {
  if (step.ledger.isAwaited(trade.index)) return;
  const ended = ENDED[trade.status];
  if (ended) setTradeStatus(trade, ended, step);
  else if (trade.status === 'open' && isUsedUp(trade, step)) {
    returnRest(trade, trade.source, step);
    setTradeStatus(trade, 'complete', step);
  }
}

/** Returns whether a trade should have ended with the block below, which had no room. */
export function isPastEnd({ expiration }: Trade, { timeBelow }: Step['action']['block']): boolean {
  return expiration < timeBelow;
}

/** Expires a trade that is still open. */
export function expireTrade({ kind, index, source }: Trade): SystemAction {
  return {
    name: `${kind.toUpperCase()}_EXPIRE`,
    source,
    run: (step) => {
      const trade = step.ledger.offer(kind, index);
      if (trade?.status !== 'open') return false;
      step.ledger.record(`${kind}_expires`, {
        action_index: step.action.index,
        [`${kind}_action_index`]: index,
        status_id: 'valid'
      });
      endTrade(trade, 'expired', trade.source, step);
      return true;
    }
  };
}

function returnRest({ give, giveLeft, source }: Trade, to: string, step: Step): void {
  giveSide({ ...give, amount: giveLeft }, { named: source, to }, step);
}
