import { blockRoot } from '../../consensus/block-root.ts';
import { type CommitmentHashes, toHex } from '../../consensus/commitment-hashes.ts';
import type { ActionRow, LedgerRow } from '../../consensus/ledger-hashes.ts';
import type { Moved } from './unit.ts';

/** Returns the root over a block's movements and actions, as hex. @see src/consensus/block-root.ts */
export function rootOf(hashes: CommitmentHashes, moved: Moved, actions: readonly ActionRow[]): string {
  const leavesOf = (rows: readonly LedgerRow[]) =>
    rows.map(({ action_index, ...named }) => ({ actionIndex: String(action_index), ...named }));
  const root = blockRoot(hashes, {
    credits: leavesOf(moved.credits),
    debits: leavesOf(moved.debits),
    escrows: leavesOf(moved.escrows),
    actions: actions.map(({ action_index, tx_index, action }) => {
      return { actionIndex: String(action_index), txIndex: tx_index === null ? null : String(tx_index), action };
    })
  });
  return toHex(root);
}
