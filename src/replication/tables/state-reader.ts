import { balanceLeaf, type ChainNames, type LeafChange } from '../../consensus/balance-leaf.ts';
import { type ActionLeaf, blockRoot, LEDGER_KINDS, type LedgerLeaf } from '../../consensus/block-root.ts';
import { type CommitmentHashes, toHex } from '../../consensus/commitment-hashes.ts';
import { type Connection, rows, type Statements } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { TypedTable } from '../../wire/data/schema.ts';
import type { TablePlan } from './classify.ts';
import { scopeSql } from './scope-sql.ts';

const PAIRS_AT_ONCE = 500;
const PAGE_ROWS = 2_000;
/** Tables of contracts, whose rows have no form in a block root yet: a block that has some has no root. */
const CONTRACT_TABLES = /^(contracts|contract_.*|deposits|withdrawals)$/;

/** Ids of an address and a tick, as decimal text: what names a row of `balances`. */
export type BalanceKey = readonly [addressId: string, tickId: string];

/** Commitments that a schema allows. */
export interface StateTables {
  readonly hasBalances: boolean;
  /** Reads the rows of one block; null when the tables lack the columns of a block root. */
  readonly block: { readonly sql: string; readonly parts: number } | null;
}

/** Looks for the tables and columns that commitments are made of. */
export function findStateTables(plans: readonly TablePlan[], tables: readonly TypedTable[]): StateTables {
  const planOf = (name: string) => plans.find((plan) => plan.name === name && plan.class !== 'local');
  const has = (name: string, ...columns: string[]) =>
    columns.every((column) => planOf(name)?.columns.some((own) => own.name === column));
  const hasNames = has('index_addresses', 'id', 'address') && has('index_tickers', 'id', 'tick');
  const balances = planOf('balances');
  const hasBalances =
    hasNames &&
    has('balances', 'address_id', 'tick_id', 'amount') &&
    balances?.identity?.toSorted().join() === 'address_id,tick_id' &&
    balances.columns.every(({ name, type }) => !name.endsWith('_id') || /int/i.test(type));
  const ledger = LEDGER_KINDS.filter((kind) => planOf(kind));
  const hasBlocks =
    hasNames &&
    has('actions', 'action_index', 'block_index', 'action_id') &&
    has('index_actions', 'id', 'action') &&
    ledger.every((kind) => planOf(kind)!.scope && has(kind, 'action_index', 'address_id', 'tick_id', 'amount'));
  if (!hasBlocks) return { hasBalances, block: null };
  const parts = ledger.map((kind) => {
    const { from, block } = scopeSql(planOf(kind)!, tables);
    const named = `LEFT JOIN index_addresses a ON a.id = r.address_id LEFT JOIN index_tickers t ON t.id = r.tick_id`;
    const list = [text(`'${kind}'`), 'r.action_index', text('a.address'), text('t.tick'), text('r.amount'), 'NULL'];
    return `SELECT ${list.join(', ')} FROM ${from} ${named} WHERE ${block} = ?`;
  });
  const action = [text('x.action'), text('NULL'), text('NULL'), has('actions', 'tx_index') ? 'r.tx_index' : 'NULL'];
  parts.unshift(
    `SELECT ${text("'actions'")} AS kind, r.action_index AS action_index, ${action[0]} AS name, ${action[1]} AS tick, ${action[2]} AS amount, ${action[3]} AS tx_index
     FROM actions r LEFT JOIN index_actions x ON x.id = r.action_id WHERE r.block_index = ?`
  );
  for (const plan of plans.filter(({ name, scope }) => CONTRACT_TABLES.test(name) && scope)) {
    const { from, block } = scopeSql(plan, tables);
    parts.push(
      `(SELECT ${text("'contracts'")}, 0, ${text('NULL')}, ${text('NULL')}, ${text('NULL')}, NULL FROM ${from} WHERE ${block} = ? LIMIT 1)`
    );
  }
  return { hasBalances, block: { sql: parts.join(' UNION ALL '), parts: parts.length } };
}

/** Returns SQL that makes columns of several character sets one. */
function text(expression: string): string {
  return `CONVERT(${expression} USING utf8mb4) COLLATE utf8mb4_bin`;
}

/** Reads the leaves that some balances have now; a balance that is gone has none. @throws {PlatformError} STATE_UNENCODABLE */
export async function readLeaves(
  connection: Statements,
  hashes: CommitmentHashes,
  names: ChainNames,
  keys: readonly BalanceKey[]
): Promise<LeafChange[]> {
  const leaves: LeafChange[] = [];
  for (let from = 0; from < keys.length; from += PAIRS_AT_ONCE) {
    const pairs = keys.slice(from, from + PAIRS_AT_ONCE);
    const list = pairs.map(
      ([addressId, tickId]) => `SELECT ${digits(addressId)} AS address_id, ${digits(tickId)} AS tick_id`
    );
    const found = await rows(
      connection,
      `SELECT k.address_id, k.tick_id, a.address, t.tick, b.amount FROM (${list.join(' UNION ALL ')}) k
       LEFT JOIN balances b ON b.address_id = k.address_id AND b.tick_id = k.tick_id
       LEFT JOIN index_addresses a ON a.id = k.address_id LEFT JOIN index_tickers t ON t.id = k.tick_id`
    );
    // A balance and its name vanished together when the blocks that brought both were undone.
    const named = found.filter((row) => row['amount'] !== null || (row['address'] !== null && row['tick'] !== null));
    for (const row of named) leaves.push(leafOf(hashes, names, row));
  }
  return leaves;
}

/** Yields every balance's leaf, page by page. Call it in a consistent snapshot. @throws {PlatformError} STATE_UNENCODABLE */
export async function* readLeafPages(
  connection: Connection,
  hashes: CommitmentHashes,
  names: ChainNames
): AsyncGenerator<LeafChange[]> {
  for (let after: readonly [unknown, unknown] = [-1, -1]; ; ) {
    const page = await rows(
      connection,
      `SELECT b.address_id, b.tick_id, a.address, t.tick, b.amount FROM (
         SELECT address_id, tick_id, amount FROM balances WHERE address_id >= ? AND (address_id > ? OR tick_id > ?)
         ORDER BY address_id, tick_id LIMIT ${PAGE_ROWS}
       ) b LEFT JOIN index_addresses a ON a.id = b.address_id LEFT JOIN index_tickers t ON t.id = b.tick_id
       ORDER BY b.address_id, b.tick_id`,
      [after[0], after[0], after[1]]
    );
    yield page.map((row) => leafOf(hashes, names, row));
    const last = page.at(-1);
    if (!last || page.length < PAGE_ROWS) return;
    after = [last['address_id'], last['tick_id']];
  }
}

/** Reads the root over one block's rows; null when it has rows of contracts. @throws {PlatformError} STATE_UNENCODABLE */
export async function readBlockRoot(
  connection: Statements,
  hashes: CommitmentHashes,
  { sql, parts }: NonNullable<StateTables['block']>,
  height: number
): Promise<string | null> {
  const found = await rows(connection, sql, Array(parts).fill(height));
  if (found.some((row) => row['kind'] === 'contracts')) return null;
  const ledger = { credits: [] as LedgerLeaf[], debits: [] as LedgerLeaf[], escrows: [] as LedgerLeaf[] };
  const actions: ActionLeaf[] = [];
  for (const row of found) {
    const { kind, action_index: index, name, tick, amount, tx_index: txIndex } = row;
    const actionIndex = String(index);
    if (kind === 'actions') {
      const action = known(name, `the kind of action ${actionIndex}`);
      actions.push({ actionIndex, txIndex: txIndex === null ? null : String(txIndex), action });
    } else {
      const what = `of ${String(kind)} of action ${actionIndex}`;
      const leaf = { address: known(name, `the address ${what}`), tick: known(tick, `the tick ${what}`) };
      ledger[kind as keyof typeof ledger].push({ actionIndex, ...leaf, amount: String(amount) });
    }
  }
  return toHex(blockRoot(hashes, { ...ledger, actions }));
}

function leafOf(hashes: CommitmentHashes, names: ChainNames, row: Record<string, unknown>): LeafChange {
  const { address_id: addressId, tick_id: tickId, amount } = row;
  const address = known(row['address'], `address ${String(addressId)}`);
  const tick = known(row['tick'], `tick ${String(tickId)}`);
  return balanceLeaf(hashes, names, { address, tick, amount: amount === null ? null : String(amount) });
}

function known(value: unknown, what: string): string {
  if (value === null)
    throw new PlatformError('STATE_UNENCODABLE', { reason: `${what} has no name in its index_ table` });
  return String(value);
}

/** @throws {PlatformError} STATE_UNENCODABLE for a value that is not an id */
function digits(id: string): string {
  if (!/^\d{1,20}$/.test(id)) throw new PlatformError('STATE_UNENCODABLE', { reason: `a balance has the id ${id}` });
  return id;
}
