import { compareBytes } from './byte-order.ts';
import { type CommitmentHashes, joinFields, type RawHash } from './commitment-hashes.ts';

/** Tables whose rows a block root covers, in its order. A leaf names its table. */
export const LEDGER_KINDS = ['credits', 'debits', 'escrows'] as const;
/** Name of one of those tables. */
type LedgerKind = (typeof LEDGER_KINDS)[number];

/** Movement. `amount` and `action_index` are the text as stored. */
export interface LedgerLeaf {
  readonly actionIndex: string;
  readonly address: string;
  readonly tick: string;
  readonly amount: string;
}

/** Action. `action_index` and `tx_index` are the text as stored. */
export interface ActionLeaf {
  readonly actionIndex: string;
  /** Index of the transaction; null for an action without one. */
  readonly txIndex: string | null;
  readonly action: string;
}

/** Rows of one block that its root covers. */
type BlockLeaves = Readonly<Record<LedgerKind, readonly LedgerLeaf[]>> & {
  readonly actions: readonly ActionLeaf[];
};

/**
 * Returns the root over the rows of one block: credits, debits, escrows and actions, padded with E0 to a power of two;
 * E0 for none.
 *
 * @throws {PlatformError} STATE_UNENCODABLE
 */
export function blockRoot(hashes: CommitmentHashes, block: BlockLeaves): RawHash {
  const leaf = (fields: readonly string[]) => hashes.leaf(joinFields(fields));
  let level = [
    ...LEDGER_KINDS.flatMap((kind) =>
      block[kind]
        .toSorted(byPlace)
        .map(({ actionIndex, address, tick, amount }) => leaf(['L', kind, actionIndex, address, tick, amount]))
    ),
    ...block.actions
      .toSorted((a, b) => byNumber(a.actionIndex, b.actionIndex))
      .map(({ actionIndex, txIndex, action }) => leaf(['A', actionIndex, txIndex ?? '', action]))
  ];
  let width = 1;
  while (width < level.length) width *= 2;
  while (level.length < width) level.push(hashes.empty[0]!);
  for (; level.length > 1; width /= 2) {
    level = Array.from({ length: width / 2 }, (_, index) => hashes.node(level[2 * index]!, level[2 * index + 1]!));
  }
  return level[0] ?? hashes.empty[0]!;
}

function byPlace(a: LedgerLeaf, b: LedgerLeaf): number {
  return (
    byNumber(a.actionIndex, b.actionIndex) ||
    compareBytes(a.address, b.address) ||
    compareBytes(a.tick, b.tick) ||
    compareBytes(a.amount, b.amount)
  );
}

/** Compares plain decimal counts of any size. */
function byNumber(a: string, b: string): number {
  return a.length - b.length || Number(a > b) - Number(a < b);
}

/** Hashes that a state root binds together, as hex. `state` is null where the ledger has none. */
interface StateParts {
  readonly balancesRoot: string;
  readonly blockMerkleRoot: string;
  readonly ledger: string;
  readonly actions: string;
  readonly contract: string;
  readonly state: string | null;
}

/** Returns one hash for a block: of the balances after it, its rows, and the hash chains that lead to it. */
export function stateRoot(hashes: CommitmentHashes, parts: StateParts): RawHash {
  const { balancesRoot, blockMerkleRoot, ledger, actions, contract, state } = parts;
  const fields = [`${hashes.domain}_STATE`, balancesRoot, blockMerkleRoot, ledger, actions, contract, state ?? ''];
  return hashes.leaf(joinFields(fields));
}
