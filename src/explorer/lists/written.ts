import { address, big, bigOrNull, type Column, type Columns, integerOrNull, looked, textOrNull } from './columns.ts';
import type { Filter, List } from './list.ts';
import { waysOf } from './ways.ts';

/** Returns the time of a block. @param height an expression */
export const timeOf = (height: string): Column =>
  bigOrNull(
    `(SELECT b.block_time FROM blocks b WHERE b.block_index = ${height} LIMIT 1)`,
    'time of its block in Unix seconds'
  );

/** Fields of every action, over `actions a`. */
export const ACTION_COLUMNS: Columns = {
  action: looked('index_actions', 'a.action_id'),
  action_index: big('a.action_index'),
  action_format: integerOrNull('a.action_format'),
  source: address('a.source_id'),
  block_index: big('a.block_index'),
  timestamp: timeOf('a.block_index'),
  tx_hash: textOrNull(
    '(SELECT i.hash FROM transactions x JOIN index_transactions i ON i.id = x.tx_hash_id WHERE x.tx_index = a.tx_index)',
    'null for what the system does by itself'
  ),
  tx_index: bigOrNull('a.tx_index')
};

export const memo = looked('index_memos', 't.memo_id');
export const status = looked('index_statuses', 't.status_id', '`valid`, or why it was refused');

export const LIST = { tag: 'Actions', database: 'indexer' } as const;

/** Later blocks leave their rows as they are. Credits are not among them: what is released late counts to the action that held it. */
const SETTLED = new Set([
  'sends',
  'mints',
  'issues',
  'destroys',
  'debits',
  'escrows',
  'dispenses',
  'addresses',
  'airdrops',
  'batches',
  'broadcasts',
  'callbacks',
  'dividends',
  'dispenser_cancels',
  'dispenser_closes',
  'dispenser_expires',
  'dispenser_edits',
  'fees',
  'files',
  'links',
  'lists',
  'messages',
  'order_expires',
  'order_edits',
  'order_cancels',
  'coinpays',
  'coinpay_expires',
  'sleeps',
  'swap_edits',
  'swap_expires',
  'swap_cancels',
  'swap_matches',
  'sweeps'
]);

const joinsOf = (table: string) =>
  `STRAIGHT_JOIN ${table} t ON t.action_index = k.k STRAIGHT_JOIN actions a ON a.action_index = k.k`;

type Types = Pick<List, 'types'> & Partial<Pick<List, 'usual' | 'all' | 'paths' | 'first' | 'changesBetweenBlocks'>>;

/** Returns a list of what actions of one kind wrote into their table. @param within orders the rows of one action */
export function written(
  table: string,
  summary: string,
  columns: Columns,
  types: Types,
  within: readonly string[] = []
): List {
  const settled = SETTLED.has(table) ? ({ isSettled: true } as const) : {};
  return {
    ...LIST,
    ...settled,
    summary,
    columns: { ...ACTION_COLUMNS, ...columns },
    joins: joinsOf(table),
    within,
    ...types
  };
}

/** Returns a list of rows that have an id of their own, and no action. */
export function rowsById(table: string, summary: string, columns: Columns, types: Types, key = 'id'): List {
  return {
    ...LIST,
    summary,
    columns,
    joins: `STRAIGHT_JOIN ${table} t ON t.${key} = k.k`,
    within: [],
    ...types
  };
}

/** Returns a list of later actions on an offer (cancels, edits, expiries), by their own block or source. */
export function follows(table: string, summary: string, columns: Columns, action?: string): List {
  const ways = waysOf(table, action === undefined ? {} : { action });
  return written(table, summary, columns, { types: { block: ways.block, address: ways.source } });
}

/** Returns a way to rows by the ids of validators' keys. @param column of the table */
export const byPubkey = (table: string, column = 'signing_pubkey_id', key = 'action_index'): Filter =>
  waysOf(table, { key }).texts(column, 'pubkey');
