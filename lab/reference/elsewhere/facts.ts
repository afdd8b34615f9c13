import type { DbType } from '../../../src/wire/data/database.ts';
import type { LookupName } from '../../../test/support/tables-in-use/tables.ts';

const DECIMAL = '^-?(0|[1-9][0-9]*)([.][0-9]{1,18})?$';
const COINS = '^(0|[1-9][0-9]*)([.][0-9]{1,8})?$';
/** Seconds since 1970, from the first block of any chain to the year 5138. */
const SECONDS = '^1[23][0-9]{8}$|^1[4-9][0-9]{8}$|^[2-9][0-9]{9}$|^[0-9]{11}$';
const HASH = '^[0-9a-f]{64}$';
const KEY = '^0[23][0-9a-f]{64}$|^04[0-9a-f]{128}$';

/** Form of the values of a column; `of` says it in words. Rows of refused actions keep the words of their senders. */
export interface Form {
  readonly columns: string;
  readonly pattern: string;
  readonly of: string;
}

/** Forms of values in databases in use, by columns `table.column`. NULL has any form. */
export const FORMS: Readonly<Record<DbType, readonly Form[]>> = {
  indexer: [
    { of: 'seconds', pattern: SECONDS, columns: 'blocks.block_time coinpay_obligations.expiration' },
    { of: '64 hexadecimal digits, or empty', pattern: `^$|${HASH}`, columns: 'index_transactions.hash' },
    { of: 'a public key in hexadecimal digits', pattern: KEY, columns: 'pubkeys.pubkey' },
    {
      of: 'a decimal of at most 18 places',
      pattern: DECIMAL,
      columns:
        'escrows.amount tokens.supply tokens.max_supply sends.amount destroys.amount orders.give_amount orders.get_amount dispensers.give_amount dispenses.give_amount order_matches.give_amount order_matches.get_amount swap_matches.give_amount swap_matches.get_amount'
    },
    {
      of: 'a decimal of at most 18 places, not below zero',
      pattern: DECIMAL.replace('-?', ''),
      columns: 'credits.amount debits.amount'
    },
    {
      of: 'a positive decimal without zeros at its end',
      pattern: '^(0[.][0-9]*[1-9]|[1-9][0-9]*([.][0-9]*[1-9])?)$',
      columns: 'balances.amount'
    },
    {
      of: 'an amount in coins, of at most 8 places',
      pattern: COINS,
      columns: 'coinpays.coin_amount coinpay_obligations.coin_amount fees.native_coin_amount'
    },
    { of: 'a number of decimals from 0 to 18', pattern: '^([0-9]|1[0-8])$', columns: 'tokens.decimals' },
    { of: '1 (ticker) or 2 (address)', pattern: '^[12]$', columns: 'mappings_actions.type_id' },
    { of: '1 (ticker)', pattern: '^1$', columns: 'mappings_files.type_id' },
    { of: '1, 2 or 3', pattern: '^[123]$', columns: 'lists.type' },
    {
      of: '1 or 2',
      pattern: '^[12]$',
      columns: 'lists.edit fees.method fees.payment_mode fees.fee_preference fees.fee_version'
    },
    { of: 'valid or invalid', pattern: '^(in)?valid$', columns: 'prices.validation_status' }
  ],
  decoder: [
    { of: 'seconds', pattern: SECONDS, columns: 'blocks.block_time' },
    {
      of: 'an amount in coins, with 8 places',
      pattern: '^(0|[1-9][0-9]*)[.][0-9]{8}$',
      columns: 'transaction_outputs.amount'
    },
    { of: '64 hexadecimal digits, or empty', pattern: `^$|${HASH}`, columns: 'index_transactions.hash' },
    { of: 'a public key in hexadecimal digits', pattern: KEY, columns: 'pubkeys.pubkey' },
    { of: '0', pattern: '^0$', columns: 'transactions.fee' }
  ]
};

type TextTable = LookupName;

/** Names of columns that end in `_id` and hold a text, no id. */
const NO_IDS = /^(btc_chain|call|challenge|match|provider|push|request|snapshot|token|transfer)_id$/;

/** Returns the table whose id a column holds; undefined for a column that holds none, or whose table its row decides. */
export function textTableOf(table: string, column: string, isNumber: boolean): TextTable | undefined {
  if (!column.endsWith('_id') || !isNumber) return undefined;
  if (column === 'type_id') return table === 'files' ? 'index_mime_types' : undefined;
  if (column === 'item_id' || (NO_IDS.test(column) && table !== 'issues')) return undefined;
  if (/(^|_)tick\d?_id$/.test(column)) return 'index_tickers';
  if (/(^|_)coin\d?_id$/.test(column)) return 'index_coins';
  if (column.endsWith('status_id')) return 'index_statuses';
  if (column.endsWith('pubkey_id')) return 'index_pubkeys';
  if (column.endsWith('hash_id')) return 'index_transactions';
  if (column === 'memo_id') return 'index_memos';
  if (column === 'fiat_id') return 'index_fiats';
  return column === 'action_id' ? 'index_actions' : 'index_addresses';
}

/** Counters without gaps: what was taken back is dealt again. */
export const COUNTERS: Readonly<Record<DbType, readonly string[]>> = {
  indexer: [
    'blocks.block_index',
    'transactions.tx_index',
    'actions.action_index',
    'index_addresses.id',
    'index_tickers.id'
  ],
  decoder: ['blocks.block_index', 'transactions.tx_index']
};

/** Columns of a row that name what an action touched, each with the type under which `mappings_actions` has it. */
export const MAPPED: readonly (readonly [table: string, column: string, type: number])[] = [
  ['sends', 'tick_id', 1],
  ['sends', 'destination_id', 2],
  ['mints', 'tick_id', 1],
  ['credits', 'tick_id', 1],
  ['credits', 'address_id', 2],
  ['debits', 'tick_id', 1],
  ['debits', 'address_id', 2]
];

/** Tables without which nothing of a ledger can be checked, with the columns that every check reads. */
export const NEEDED: Readonly<Record<DbType, Readonly<Record<string, string>>>> = {
  indexer: {
    blocks: 'block_index block_time ledger_hash_id actions_hash_id contract_hash_id',
    transactions: 'tx_index block_index',
    actions: 'action_index block_index tx_index action_id',
    credits: MOVEMENT(),
    debits: MOVEMENT(),
    escrows: MOVEMENT(),
    balances: 'address_id tick_id amount',
    tokens: 'tick_id supply',
    mappings_actions: 'action_index type_id id',
    index_statuses: 'id status',
    index_actions: 'id action',
    index_addresses: 'id address',
    index_tickers: 'id tick',
    index_transactions: 'id hash'
  },
  decoder: {
    blocks: 'block_index block_time block_hash_id previous_block_hash_id',
    transactions: 'tx_index block_index source_id destination_id fee',
    transaction_outputs: 'tx_index destination_id amount',
    index_addresses: 'id address',
    index_transactions: 'id hash'
  }
};

function MOVEMENT(): string {
  return 'action_index address_id tick_id amount';
}
