import { hash } from 'node:crypto';
import { compareBytes } from './byte-order.ts';

const HASH_VERSION = 1;

/** Movement of the ledger. `amount` is text as it is stored. */
export interface LedgerRow {
  readonly action_index: number;
  readonly address: string;
  readonly tick: string;
  readonly amount: string;
}

/** Action of a block, as its hash covers it. */
export interface ActionRow {
  readonly action_index: number;
  /** Index of the transaction; null for an action that no transaction holds. */
  readonly tx_index: number | null;
  readonly action: string;
}

/** Balance after a block. `amount` is plain decimal, 0 where nothing is left. */
interface HeldRow {
  readonly address: string;
  readonly tick: string;
  readonly amount: string;
}

/** Token after a block. */
export interface TokenRow {
  readonly tick: string;
  readonly owner: string;
  readonly supply: string;
}

/** End of each preimage. `previousHash` is undefined for the first block only. */
export interface HashPosition {
  readonly blockIndex: number;
  readonly previousHash: string | undefined;
}

const CONTRACT_PARTS = ['contracts', 'state', 'executions', 'emissions', 'deposits', 'withdrawals'] as const;
/** Name of one part of the hash of contracts. */
type ContractPart = (typeof CONTRACT_PARTS)[number];

/**
 * Returns the hash of a block's credits, debits and escrows, given in any order.
 *
 * @param roles names that replace well-known protocol addresses, by address
 */
export function ledgerHash(
  moved: {
    readonly credits: readonly LedgerRow[];
    readonly debits: readonly LedgerRow[];
    readonly escrows: readonly LedgerRow[];
  },
  position: HashPosition,
  roles: ReadonlyMap<string, string> = new Map()
): string {
  const canonical = (rows: readonly LedgerRow[]) =>
    rows
      .map(({ action_index, address, tick, amount }) => ({
        action_index,
        address: roles.get(address) ?? address,
        tick,
        amount
      }))
      .sort(byPlace);
  const { credits, debits, escrows } = moved;
  return hashOf({ credits: canonical(credits), debits: canonical(debits), escrows: canonical(escrows) }, position);
}

/** Returns the hash of a block's actions: an object with the keys "0", "1", … in the order of `action_index`. */
export function actionsHash(actions: readonly ActionRow[], position: HashPosition): string {
  const sorted = actions
    .map(({ action_index, tx_index, action }) => ({ action_index, tx_index, action }))
    .sort((a, b) => a.action_index - b.action_index);
  return hashOf({ ...sorted }, position);
}

/** Returns the hash of the rows of contracts. A missing part counts as empty. */
export function contractHash(
  parts: Readonly<Partial<Record<ContractPart, readonly object[]>>>,
  position: HashPosition
): string {
  return hashOf(Object.fromEntries(CONTRACT_PARTS.map((part) => [part, parts[part] ?? []])), position);
}

/**
 * Returns the hash of the balances and tokens that a block changed, as they are after it, given in any order.
 *
 * @param roles names that replace well-known protocol addresses, by address
 */
export function stateHash(
  changed: { readonly balances: readonly HeldRow[]; readonly tokens: readonly TokenRow[] },
  position: HashPosition,
  roles: ReadonlyMap<string, string> = new Map()
): string {
  const nameOf = (address: string) => roles.get(address) ?? address;
  const balances = changed.balances
    .map(({ address, tick, amount }) => ({ address: nameOf(address), tick, amount }))
    .sort((a, b) => compareBytes(a.address, b.address) || compareBytes(a.tick, b.tick));
  const tokens = changed.tokens
    .map(({ tick, owner, supply }) => ({ tick, owner: nameOf(owner), supply }))
    .sort((a, b) => compareBytes(a.tick, b.tick));
  return hashOf({ balances, tokens }, position);
}

/** Returns SHA-256 of the JSON text, with keys in insertion order. */
function hashOf(content: object, { blockIndex, previousHash }: HashPosition): string {
  const preimage = JSON.stringify({
    ...content,
    block_index: blockIndex,
    previous_hash: previousHash,
    hash_version: HASH_VERSION
  });
  return hash('sha256', preimage, 'hex');
}

function byPlace(a: LedgerRow, b: LedgerRow): number {
  return (
    a.action_index - b.action_index ||
    compareBytes(a.address, b.address) ||
    compareBytes(a.tick, b.tick) ||
    compareText(a.amount, b.amount)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
