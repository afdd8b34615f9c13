import {
  address,
  amountOrNull,
  big,
  bigOrNull,
  type Columns,
  flag,
  integer,
  integerOrNull,
  looked,
  textOrNull,
  ticker
} from './columns.ts';
import type { List } from './list.ts';
import { actionsBy, every, mapped, waysOf } from './ways.ts';

/** What every action has, over `actions a`. */
export const ACTION_COLUMNS: Columns = {
  action: looked('index_actions', 'a.action_id'),
  action_index: big('a.action_index'),
  action_format: integerOrNull('a.action_format'),
  source: address('a.source_id'),
  block_index: integer('a.block_index'),
  timestamp: integerOrNull(
    '(SELECT b.block_time FROM blocks b WHERE b.block_index = a.block_index LIMIT 1)',
    'time of its block in Unix seconds'
  ),
  tx_hash: textOrNull(
    '(SELECT i.hash FROM transactions x JOIN index_transactions i ON i.id = x.tx_hash_id WHERE x.tx_index = a.tx_index)',
    'null for what the system does by itself'
  ),
  tx_index: bigOrNull('a.tx_index')
};

const memo = looked('index_memos', 't.memo_id');
const status = looked('index_statuses', 't.status_id', '`valid`, or why it was refused');
const amount = amountOrNull('t.amount');

const LIST = { tag: 'Actions', database: 'indexer' } as const;
/** Later blocks leave their rows as they are. Credits are not among them: what is released late counts to the action that held it. */
const SETTLED = new Set(['sends', 'mints', 'issues', 'destroys', 'debits', 'escrows', 'dispenses']);
const joinsOf = (table: string) =>
  `STRAIGHT_JOIN ${table} t ON t.action_index = k.k STRAIGHT_JOIN actions a ON a.action_index = k.k`;

/** A list of what actions of one kind wrote into their table. */
function written(
  table: string,
  summary: string,
  columns: Columns,
  lists: Omit<List, 'tag' | 'summary' | 'columns' | 'database' | 'joins' | 'within'>,
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
    ...lists
  };
}

/** What was moved on an address. */
function movement(table: 'credits' | 'debits' | 'escrows', summary: string): List {
  const { own, block, action } = waysOf(table);
  return written(
    table,
    summary,
    { address: address('t.address_id'), tick: ticker('t.tick_id'), amount },
    {
      types: { address: own('address', 'address_id'), block, token: own('ticker', 'tick_id'), action },
      usual: 'address'
    },
    ['t.address_id', 't.tick_id', 't.amount'] // equal rows stand side by side, so it does not matter which is which
  );
}

const OFFERED: Columns = {
  give_coin: looked('index_coins', 't.give_coin_id'),
  give_tick: ticker('t.give_tick_id'),
  give_amount: amountOrNull('t.give_amount'),
  give_ownership: flag('t.give_ownership'),
  get_coin: looked('index_coins', 't.get_coin_id'),
  get_tick: ticker('t.get_tick_id'),
  get_amount: amountOrNull('t.get_amount'),
  get_address: address('t.get_address_id'),
  expiration: bigOrNull('t.expiration'),
  allow_list: bigOrNull('t.allow_list'),
  block_list: bigOrNull('t.block_list'),
  memo,
  status
};

/** Where an offer stands: its newest status. */
const stateOf = (kind: 'order' | 'swap' | 'dispenser') =>
  textOrNull(
    `(SELECT i.status FROM ${kind}_statuses s JOIN index_statuses i ON i.id = s.status_id
      WHERE s.${kind}_action_index = a.action_index ORDER BY s.action_index DESC LIMIT 1)`,
    'its newest status; null for an offer that was refused'
  );

function offers(kind: 'order' | 'swap', summary: string): List {
  const table = `${kind}s`;
  const { own, block, source, address: anyAddress } = waysOf(table);
  return written(
    table,
    summary,
    { ...OFFERED, get_ownership: flag('t.get_ownership'), state: stateOf(kind) },
    {
      types: {
        address: anyAddress('get_address_id'),
        block,
        source,
        token: own('ticker', 'give_tick_id', 'get_tick_id')
      }
    }
  );
}

const [sends, mints, issues, destroys, dispensers, dispenses] = [
  waysOf('sends'),
  waysOf('mints'),
  waysOf('issues'),
  waysOf('destroys'),
  waysOf('dispensers'),
  waysOf('dispenses')
];
const transfer: Columns = { destination: address('t.destination_id'), tick: ticker('t.tick_id'), amount, memo, status };
/** The actions of a block have consecutive indexes. */
const ofBlock = {
  ...actionsBy('height', 'block_index'),
  total: 'SELECT MAX(action_index) - MIN(action_index) + 1 AS total FROM actions WHERE block_index = ?'
};
const HISTORY = { address: mapped('address'), block: ofBlock, token: mapped('ticker') };
const everyAction = every('actions a', 'a.action_index', { isDense: true });

/** The lists of actions, by their methods. */
export const ACTION_LISTS = {
  actions: {
    ...LIST,
    summary: 'Actions',
    columns: ACTION_COLUMNS,
    isSettled: true,
    joins: 'STRAIGHT_JOIN actions a ON a.action_index = k.k',
    within: [],
    all: everyAction,
    types: {},
    parameters: {
      blockIndex: HISTORY.block,
      txid: actionsBy(
        'hash',
        'tx_index',
        '(SELECT x.tx_index FROM transactions x JOIN index_transactions i ON i.id = x.tx_hash_id WHERE i.hash = ?)'
      ),
      tick: HISTORY.token
    }
  },
  history: {
    ...LIST,
    summary: 'What happened to an address or a token, in a block, or lately',
    columns: ACTION_COLUMNS,
    isSettled: true,
    joins: 'STRAIGHT_JOIN actions a ON a.action_index = k.k',
    within: [],
    types: { ...HISTORY, recent: everyAction }
  },
  sends: written(
    'sends',
    'Transfers, one row a leg',
    transfer,
    {
      types: {
        address: sends.address('destination_id'),
        block: sends.block,
        source: sends.source,
        destination: sends.own('address', 'destination_id'),
        token: sends.own('ticker', 'tick_id')
      }
    },
    ['t.leg_ordinal']
  ),
  mints: written('mints', 'New units of tokens', transfer, {
    types: {
      address: mints.address('destination_id'),
      block: mints.block,
      source: mints.source,
      destination: mints.own('address', 'destination_id'),
      token: mints.own('ticker', 'tick_id')
    },
    usual: 'address'
  }),
  issues: written(
    'issues',
    'Issues of tokens, and what issuers changed',
    {
      tick: ticker('t.tick_id'),
      max_supply: amountOrNull('t.max_supply'),
      max_mint: amountOrNull('t.max_mint'),
      decimals: textOrNull('t.decimals'),
      description: textOrNull('t.description'),
      mint_supply: amountOrNull('t.mint_supply'),
      transfer: address('t.transfer_id', 'the new owner'),
      transfer_supply: address('t.transfer_supply_id', 'who gets what is minted'),
      memo,
      status
    },
    {
      types: {
        address: issues.address('transfer_id', 'transfer_supply_id'),
        block: issues.block,
        source: issues.source,
        token: issues.own('ticker', 'tick_id')
      },
      usual: 'address'
    }
  ),
  destroys: written(
    'destroys',
    'Units that were destroyed, one row a leg',
    { tick: ticker('t.tick_id'), amount, memo, status },
    {
      types: { address: destroys.source, block: destroys.block, token: destroys.own('ticker', 'tick_id') },
      usual: 'address'
    },
    ['t.leg_ordinal']
  ),
  credits: movement('credits', 'What was added to balances'),
  debits: movement('debits', 'What was taken from balances'),
  escrows: movement('escrows', 'What was put into escrow, and, below zero, let go'),
  dispensers: written(
    'dispensers',
    'Dispensers',
    {
      ...OFFERED,
      give_escrow: amountOrNull('t.give_escrow'),
      fiat: looked('index_fiats', 't.fiat_id'),
      fiat_amount: amountOrNull('t.fiat_amount'),
      oracle_address: address('t.oracle_address_id'),
      state: stateOf('dispenser')
    },
    {
      types: {
        address: dispensers.address('get_address_id'),
        block: dispensers.block,
        source: dispensers.source,
        token: dispensers.own('ticker', 'give_tick_id', 'get_tick_id')
      }
    }
  ),
  dispenses: written(
    'dispenses',
    'What dispensers gave',
    {
      dispenser: bigOrNull('t.dispenser_action_index'),
      give_coin: looked('index_coins', 't.give_coin_id'),
      give_tick: ticker('t.give_tick_id'),
      give_amount: amountOrNull('t.give_amount'),
      get_coin: looked('index_coins', 't.get_coin_id'),
      get_tick: ticker('t.get_tick_id'),
      get_amount: amountOrNull('t.get_amount'),
      destination: address('t.destination_id'),
      status
    },
    {
      types: {
        address: dispenses.address('destination_id'),
        block: dispenses.block,
        dispenser: dispenses.own('action', 'dispenser_action_index'),
        token: dispenses.own('ticker', 'give_tick_id', 'get_tick_id')
      },
      usual: 'address'
    }
  ),
  orders: offers('order', 'Orders'),
  swaps: { ...offers('swap', 'Swaps'), usual: 'address' }
} as const satisfies Readonly<Record<string, List>>;
