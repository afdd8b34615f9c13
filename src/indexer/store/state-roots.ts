import { formatAmount } from '../../consensus/amount.ts';
import { balanceLeaf, type ChainNames, type LeafChange } from '../../consensus/balance-leaf.ts';
import { stateRoot } from '../../consensus/block-root.ts';
import { type CommitmentHashes, toHex } from '../../consensus/commitment-hashes.ts';
import type { Statements } from '../../db/connection.ts';
import { hasCode } from '../../errors.ts';
import type { ExecutedBlock } from '../block/block.ts';
import { splitPair } from '../state/keys.ts';
import type { View } from '../state/view.ts';

/** Tree over all balances, which follows the ledger group by group. It outlives a connection. */
export interface FollowedBalances {
  /** Whether the tree takes groups. */
  readonly isFollowing: boolean;
  /**
   * Adds a group to the tree.
   *
   * @param changes the changed leaves; null when they are unknown, and the tree is made anew
   * @returns the root after it as hex; null while there is no tree
   */
  advance(
    span: { readonly base: number; readonly last: number },
    changes: readonly LeafChange[] | null,
    claimed: null
  ): Promise<string | null>;
  /** Keeps what the last `advance` added, or takes it back. */
  settle(isKept: boolean): Promise<void>;
  /** Undoes the groups that end above a height. */
  rollBack(height: number): Promise<void>;
  /** Adjusts the tree to a database that was opened again at this height. */
  align(height: number | null): void;
}

/**
 * Returns the leaves of balances that changed.
 *
 * @param pairs keys of `balance` facts
 * @returns null where a balance has no leaf because it is negative; the sanity check reports it
 */
export function leavesOf(
  hashes: CommitmentHashes,
  names: ChainNames,
  view: View,
  pairs: Iterable<string>
): LeafChange[] | null {
  try {
    return Array.from(pairs, (pair) => {
      const [tick, address] = splitPair(pair);
      const amount = formatAmount(view.get('balance', pair));
      return balanceLeaf(hashes, names, { address, tick: view.get('token', tick)!.tick, amount });
    });
  } catch (caught) {
    if (hasCode(caught, 'STATE_UNENCODABLE')) return null;
    throw caught;
  }
}

/**
 * Writes the roots of a block into the table from which sync servers send them.
 *
 * Only blocks at which there was a tree have roots. So they belong to one node, and replicas do not copy them.
 */
export async function insertRoots(
  connection: Statements,
  { hashes, names }: { readonly hashes: CommitmentHashes; readonly names: ChainNames },
  { block, root, hashes: chains }: ExecutedBlock,
  balancesRoot: string
): Promise<void> {
  await connection.query('INSERT INTO state_tree_roots SET ?', {
    chain: names.chain,
    network: names.network,
    block_index: block.height,
    balances_root: balancesRoot,
    block_merkle_root: root,
    state_root: toHex(stateRoot(hashes, { balancesRoot, blockMerkleRoot: root, ...chains }))
  });
}
