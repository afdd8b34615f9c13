import { formatAmount } from '../../consensus/amount.ts';
import { balanceLeaf, type ChainNames, type LeafChange } from '../../consensus/balance-leaf.ts';
import { stateRoot } from '../../consensus/block-root.ts';
import { type CommitmentHashes, toHex } from '../../consensus/commitment-hashes.ts';
import type { Connection } from '../../db/core/connection.ts';
import { hasCode } from '../../errors.ts';
import type { ExecutedBlock } from '../block/block.ts';
import { splitPair } from '../state/keys.ts';
import type { View } from '../state/view.ts';

/** The tree over all balances, which follows the ledger group by group. It outlives a connection. */
export interface FollowedBalances {
  /** Whether groups are to be handed over. */
  readonly isFollowing: boolean;
  /**
   * Takes a group in.
   *
   * @param changes null when they cannot be told: the tree is made anew
   * @returns the root after it as hex; null while there is no tree
   */
  advance(
    span: { readonly base: number; readonly last: number },
    changes: readonly LeafChange[] | null,
    claimed: null
  ): Promise<string | null>;
  /** Keeps what the last `advance` took in, or takes it back. */
  settle(isKept: boolean): Promise<void>;
  /** Undoes the groups that end above a height. */
  rollBack(height: number): Promise<void>;
  /** The database was opened again, at this height. */
  align(height: number | null): void;
}

/**
 * The leaves of balances that changed.
 *
 * @param pairs keys of `balance` facts
 * @returns null where one has none: it is negative, which the sanity check is to tell
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
 * Writes the roots of a block into the table from which sync servers pass them on.
 *
 * Only blocks at which there was a tree have them, so they are one node's own and no part of what replicas copy.
 */
export async function insertRoots(
  connection: Pick<Connection, 'query'>,
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
