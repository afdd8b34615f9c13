import { address, amountOrNull, bigOrNull, type Columns, integerOrNull, textOrNull, ticker } from './columns.ts';
import type { List, Way } from './list.ts';
import { actionsBy, every, mapped, waysOf } from './ways.ts';
import { ACTION_COLUMNS, LIST, memo, status, written } from './written.ts';

const amount = amountOrNull('t.amount');

const FIRST_LEG = 't.leg_ordinal = 0';

/** Fee of an action, over `fees t`. */
export const FEE_COLUMNS: Columns = {
  tick: ticker('t.tick_id'),
  amount,
  destination: address('t.destination_id'),
  method: bigOrNull('t.method', '1: destroyed, 2: donated'),
  gas_cost: bigOrNull('t.gas_cost'),
  gas_price: amountOrNull('t.gas_price'),
  xchain_amount: amountOrNull('t.xchain_amount'),
  payment_mode: integerOrNull('t.payment_mode', '1: by an output of the transaction, 2: from the balance'),
  native_coin_amount: amountOrNull('t.native_coin_amount'),
  native_coin: textOrNull('t.native_coin'),
  oracle_round: bigOrNull('t.oracle_round'),
  fee_preference: integerOrNull('t.fee_preference'),
  fee_version: integerOrNull('t.fee_version')
};

/** Any action may pay a fee, so those of a source are all looked at: their keys alone, newest first. */
const PAYER: Way = {
  from: 'actions a',
  indexes: ['source_id'],
  key: 'a.action_index',
  isUnique: true,
  where: 'a.source_id = ? AND EXISTS (SELECT 1 FROM fees t WHERE t.action_index = a.action_index)',
  rows: 'a.source_id = ?'
};

/** Returns a list of the amounts moved on an address. */
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

const [sends, mints, issues, destroys, fees] = [
  waysOf('sends'),
  waysOf('mints'),
  waysOf('issues'),
  waysOf('destroys'),
  waysOf('fees')
];
const transfer: Columns = { destination: address('t.destination_id'), tick: ticker('t.tick_id'), amount, memo, status };
/** The actions of a block have consecutive indexes. */
const ofBlock = {
  ...actionsBy('height', 'block_index'),
  total: 'SELECT MAX(action_index) - MIN(action_index) + 1 AS total FROM actions WHERE block_index = ?'
};
const HISTORY = { address: mapped('address'), block: ofBlock, token: mapped('ticker') };
const everyAction = every('actions a', 'a.action_index', { isDense: true });
/** The BATCH of a transaction is its first action. */
const PARENT = bigOrNull(
  `(SELECT IF(p.action_index < a.action_index AND p.action_id = (SELECT n.id FROM index_actions n WHERE n.action = 'BATCH' LIMIT 1),
      p.action_index, NULL) FROM actions p WHERE p.tx_index = a.tx_index ORDER BY p.action_index LIMIT 1)`,
  'the BATCH that it is part of'
);
const ACTED = {
  ...LIST,
  columns: ACTION_COLUMNS,
  isSettled: true,
  joins: 'STRAIGHT_JOIN actions a ON a.action_index = k.k',
  within: []
} as const;

/** The lists of actions and of what they moved, by their methods. */
export const ACTION_LISTS = {
  actions: {
    ...ACTED,
    summary: 'Actions',
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
    ...ACTED,
    summary: 'Lists what happened to an address or a token, in a block, or lately',
    columns: { ...ACTION_COLUMNS, parent_batch_action_index: PARENT },
    hasLaterFields: true,
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
      },
      first: FIRST_LEG
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
      ...Object.fromEntries(
        ['max_supply', 'mint', 'mint_supply', 'max_mint', 'description', 'sleep', 'callback'].map((lock) => [
          `lock_${lock}`,
          textOrNull(`t.lock_${lock}`)
        ])
      ),
      callback_block: textOrNull('t.callback_block'),
      callback_tick: ticker('t.callback_tick_id'),
      callback_amount: amountOrNull('t.callback_amount'),
      allow_list: bigOrNull('t.allow_list'),
      block_list: bigOrNull('t.block_list'),
      mint_address_max: amountOrNull('t.mint_address_max'),
      mint_start_block: textOrNull('t.mint_start_block'),
      mint_stop_block: textOrNull('t.mint_stop_block'),
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
      usual: 'address',
      first: FIRST_LEG
    },
    ['t.leg_ordinal']
  ),
  credits: movement('credits', 'Lists what was added to balances'),
  debits: movement('debits', 'Lists what was taken from balances'),
  escrows: movement('escrows', 'Lists what was put into escrow, and, below zero, let go'),
  fees: written('fees', 'Fees that actions paid', FEE_COLUMNS, {
    types: {
      block: fees.block,
      address: { takes: 'address', ways: [PAYER, ...fees.own('address', 'destination_id').ways] },
      source: { takes: 'address', ways: [PAYER] },
      destination: fees.own('address', 'destination_id'),
      token: fees.own('ticker', 'tick_id')
    }
  })
} as const satisfies Readonly<Record<string, List>>;
