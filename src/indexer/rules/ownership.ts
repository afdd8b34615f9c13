import type { Token } from '../state/token.ts';
import type { Step } from './action-definition.ts';

/** Gives a token to another owner, by an ISSUE of its own with the transaction of the action that causes it. */
export function writeOwnership(token: Token, owner: string, { action, ledger }: Step, status: string): void {
  const index = ledger.nextNumber('action');
  ledger.caused.push({ index, name: 'ISSUE', format: 0, source: action.source });
  ledger.record('issues', { action_index: index, tick_id: token.tick, transfer_id: owner, status_id: status });
  ledger.addMappingsOf(index, [action.source, owner], token);
  ledger.setToken({ ...ledger.token(token.tick)!, owner, escrowActionIndex: null, lastActionIndex: index });
  ledger.set('past', String(index), { name: 'ISSUE', tick: token.tick });
}
