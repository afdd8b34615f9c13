import Type from 'typebox';
import { findAction } from '../../coin/action/names.ts';
import { BLOCK_COUNTS } from './block-counts.ts';
import {
  address,
  amountOrNull,
  big,
  bigOrNull,
  type Columns,
  flagNumber,
  integerOrNull,
  looked,
  readRow,
  rowSchema,
  selectList,
  text,
  textOrNull,
  ticker
} from './columns.ts';
import type { List, Row, Way } from './list.ts';
import { every, keyed, named } from './ways.ts';
import { timeOf } from './written.ts';

/** Hash of the chain's block. */
const blockHash = textOrNull(
  '(SELECT c.block_hash FROM chain_blocks c WHERE c.block_index = b.block_index LIMIT 1)',
  'that the chain gives it; null where the indexer keeps none'
);
const hash = (name: string) => looked('index_transactions', `b.${name}_hash_id`);
const LIST = { tag: 'State', database: 'indexer', within: [] } as const;

/** Fields of a block, over `blocks b`. */
export const BLOCK_COLUMNS: Columns = {
  block_index: big('b.block_index'),
  timestamp: bigOrNull('b.block_time', 'Unix seconds'),
  block_hash: blockHash,
  ledger_hash: hash('ledger'),
  actions_hash: hash('actions'),
  contract_hash: hash('contract'),
  state_hash: hash('state')
};

const LOCKS = ['max_supply', 'mint', 'mint_supply', 'max_mint', 'description', 'sleep', 'callback'];
const issuedBy = (column: string) => `(SELECT a.${column} FROM actions a WHERE a.action_index = t.action_index)`;
const TOKEN_COLUMNS: Columns = {
  id: big('t.id'),
  tick: ticker('t.tick_id'),
  owner: address('t.owner_id'),
  supply: amountOrNull('t.supply'),
  max_supply: amountOrNull('t.max_supply'),
  decimals: integerOrNull('t.decimals'),
  description: textOrNull('t.description'),
  max_mint: amountOrNull('t.max_mint'),
  ...Object.fromEntries(LOCKS.map((lock) => [`lock_${lock}`, flagNumber(`t.lock_${lock}`)])),
  action_index: big('t.action_index', 'the ISSUE that made it'),
  block_index: bigOrNull(issuedBy('block_index')),
  timestamp: timeOf(issuedBy('block_index')),
  tx_index: bigOrNull(issuedBy('tx_index')),
  tx_hash: textOrNull(
    `(SELECT i.hash FROM actions a JOIN transactions x ON x.tx_index = a.tx_index
      JOIN index_transactions i ON i.id = x.tx_hash_id WHERE a.action_index = t.action_index)`
  )
};

const field = (place: number) => `SUBSTRING_INDEX(SUBSTRING_INDEX(CONCAT(t.data, '|'), '|', ${place}), '|', -1)`;

/** In the order of tickers, which is that of their index. */
const HELD: Way = {
  from: 'balances t',
  indexes: ['addr_tick'],
  key: 't.tick_id',
  isUnique: true,
  where: 't.address_id = ?',
  rows: 't.address_id = ?'
};

/** In the order of addresses: a holder whose balance comes back, or is written again, keeps its place. */
const HOLDING: Way = {
  from: 'balances t',
  indexes: ['tick_id_address_id', 'tick_id'],
  key: 't.address_id',
  isUnique: true,
  where: 't.tick_id = ?',
  rows: 't.tick_id = ?'
};

const DECIMALS = 'DECIMAL(58,18)';

/** Fields beside the holders of a token. */
const OF_TICKER: Columns = {
  tick: textOrNull('i.tick'),
  supply: amountOrNull('t.supply'),
  decimals: integerOrNull('t.decimals'),
  coin_price: textOrNull('t.coin_price')
};

/** Text of an action with a mark around each of its fields, and of those in a BATCH. */
const SAID = "CONCAT(REPLACE(t.data, ';', '|'), '|')";

/** Names actions as ledgers do: their senders write them in any case, or by an alias. */
const NAMED: NonNullable<List['more']> = {
  schema: {},
  read: async (_, rows) => rows.map((row) => ({ ...row, action: findAction(String(row['action'])) ?? row['action'] }))
};

/** The lists of what stands now, by their methods. */
export const STATE_LISTS = {
  blocks: {
    ...LIST,
    tag: 'Blocks',
    summary: 'Blocks of the ledger',
    columns: BLOCK_COLUMNS,
    more: BLOCK_COUNTS,
    joins: 'STRAIGHT_JOIN blocks b ON b.block_index = k.k',
    all: every('blocks b', 'b.block_index', { isDense: true }),
    types: {}
  },
  tokens: {
    ...LIST,
    summary: 'Tokens: all, of a block, of an owner, by a pattern such as `TOK*`, or those below a token',
    columns: TOKEN_COLUMNS,
    joins: 'STRAIGHT_JOIN tokens t ON t.id = k.k',
    all: every('tokens t', 't.id'),
    types: {
      address: keyed('address', 'tokens t', 't.id', 't.owner_id = ?', 'owner_id'),
      block: keyed(
        'height',
        'actions a JOIN tokens t ON t.action_index = a.action_index',
        't.id',
        'a.block_index = ?',
        'block_index'
      ),
      token: named('pattern'),
      subtoken: named('children')
    },
    usual: 'token'
  },
  balances: {
    ...LIST,
    summary: 'Lists what an address holds, or held after a past block',
    past: 'address_id',
    columns: {
      tick: ticker('t.tick_id'),
      amount: amountOrNull('t.amount'),
      supply: amountOrNull('o.supply'),
      decimals: integerOrNull('o.decimals'),
      coin_price: textOrNull('o.coin_price')
    },
    joins: 'STRAIGHT_JOIN balances t ON t.tick_id = k.k LEFT JOIN tokens o ON o.tick_id = t.tick_id',
    types: { address: { takes: 'address', ways: [HELD] } },
    usual: 'address',
    most: 500,
    usualOrder: 'asc',
    rank: { by: '(SELECT i.tick FROM index_tickers i WHERE i.id = t.tick_id)', bound: '?' },
    beside: {
      schema: { address: Type.String() },
      read: async (_, value, { text }) => ({ address: value === null ? text : String(value) })
    }
  },
  holders: {
    ...LIST,
    summary: 'Lists who holds a token, or held it after a past block',
    past: 'tick_id',
    columns: { address: address('t.address_id'), amount: amountOrNull('t.amount') },
    joins: 'STRAIGHT_JOIN balances t ON t.address_id = k.k',
    types: { token: { takes: 'ticker', ways: [HOLDING] } },
    usual: 'token',
    most: 500,
    rank: { by: `CAST(t.amount AS ${DECIMALS})`, bound: `CAST(? AS ${DECIMALS})` },
    beside: {
      schema: rowSchema(OF_TICKER).properties,
      read: async (query, value, { isPast }) => {
        const [found] = await query<Row>(
          `SELECT ${selectList(OF_TICKER)} FROM index_tickers i LEFT JOIN tokens t ON t.tick_id = i.id WHERE i.id = ? LIMIT 1`,
          [value]
        );
        const fields = readRow(OF_TICKER, found ?? {});
        return isPast ? { ...fields, supply: null, coin_price: null } : fields; // they are known of now alone
      }
    }
  },
  mempool: {
    ...LIST,
    database: 'decoder',
    summary: 'Actions of transactions without a block; nothing has judged them',
    columns: {
      tx_hash: text('t.tx_hash'),
      action: text(field(1)),
      source: text('t.source'),
      destination: textOrNull('t.destination'),
      amount: textOrNull('t.amount'),
      fee: textOrNull('t.fee'),
      data: text('t.data', 'the whole text of the action')
    },
    joins: 'STRAIGHT_JOIN mempool_transactions t ON t.tx_hash = k.k',
    textKeys: true,
    more: NAMED,
    all: every('mempool_transactions t', 't.tx_hash'),
    types: {
      address: keyed(
        'spelling',
        'mempool_transactions t',
        't.tx_hash',
        `(? IN (t.source, t.destination) OR INSTR(${SAID}, CONCAT('|', ?, '|')) > 0)`
      ),
      token: keyed(
        'text',
        'mempool_transactions t',
        't.tx_hash',
        `INSTR(LOWER(${SAID}), LOWER(CONCAT('|', ?, '|'))) > 0`
      )
    },
    usual: 'address'
  }
} as const satisfies Readonly<Record<string, List>>;
