import { address, amountOrNull, bigOrNull, integerOrNull, looked, textOrNull, ticker } from './columns.ts';
import type { List, Way } from './list.ts';
import { keyed, waysOf } from './ways.ts';
import { follows, memo, status, written } from './written.ts';

const [airdrops, callbacks, dividends, files, messages, sleeps, sweeps, prices] = [
  waysOf('airdrops'),
  waysOf('callbacks'),
  waysOf('dividends'),
  waysOf('files'),
  waysOf('messages'),
  waysOf('sleeps'),
  waysOf('sweeps'),
  waysOf('prices')
];
const amount = amountOrNull('t.amount');
const tick = ticker('t.tick_id');
const gate = (column: string) =>
  `(SELECT g.${column} FROM gated_files g WHERE g.action_index = t.action_index LIMIT 1)`;

/** Files that a token was linked to. */
const OF_TOKEN: Way = {
  from: 'mappings_files m',
  key: 'm.action_index',
  where: 'm.type_id = 1 AND m.id = ?',
  rows: 'TRUE'
};

/** The lists of what holders and issuers said and did at once, by their methods. */
export const NOTE_LISTS = {
  addresses: follows(
    'addresses',
    'Lists what addresses prefer',
    {
      fee_preference: bigOrNull('t.fee_preference'),
      require_memo: bigOrNull('t.require_memo'),
      dispenser_preference: bigOrNull('t.dispenser_preference'),
      memo,
      status
    },
    'ADDRESS'
  ),
  airdrops: written(
    'airdrops',
    'Gifts to all of a list',
    { tick, amount, list_action_index: bigOrNull('t.list_action_index'), memo, status },
    { types: { block: airdrops.block, address: airdrops.source, token: airdrops.own('ticker', 'tick_id') } },
    ['t.tick_id', 't.list_action_index', 't.amount']
  ),
  batches: follows('batches', 'Several actions in one', { status }, 'BATCH'),
  broadcasts: follows('broadcasts', 'Messages to all', {
    message: textOrNull('t.message'),
    value: amountOrNull('t.value'),
    fee: amountOrNull('t.fee'),
    broadcast_action_index: bigOrNull('t.broadcast_action_index'),
    memo,
    status
  }),
  callbacks: written(
    'callbacks',
    'Tokens that issuers called back',
    {
      tick,
      callback_tick: ticker('t.callback_tick_id'),
      callback_amount: amountOrNull('t.callback_amount'),
      memo,
      status
    },
    {
      types: {
        block: callbacks.block,
        address: callbacks.source,
        token: callbacks.own('ticker', 'tick_id', 'callback_tick_id')
      }
    }
  ),
  dividends: written(
    'dividends',
    'Payments to all holders of a token',
    { tick, dividend_tick: ticker('t.dividend_tick_id'), amount, memo, status },
    {
      types: {
        block: dividends.block,
        address: dividends.source,
        token: dividends.own('ticker', 'tick_id', 'dividend_tick_id')
      }
    }
  ),
  files: written(
    'files',
    'Files, without their bytes',
    {
      name: textOrNull('t.name'),
      title: textOrNull('t.title'),
      type: looked('index_mime_types', 't.type_id'),
      encryption_method: integerOrNull(gate('encryption_method')),
      gate_ticker: textOrNull(gate('gate_ticker')),
      gate_min_amount: amountOrNull(gate('gate_min_amount')),
      key_hash: textOrNull(gate('key_hash')),
      memo,
      status
    },
    {
      types: {
        block: files.block,
        address: files.source,
        token: { takes: 'ticker', ways: [OF_TOKEN] },
        name: keyed('text', 'files t', 't.action_index', 't.name = ?', 'name')
      }
    }
  ),
  links: follows('links', 'Actions that belong together', {
    coin1: looked('index_coins', 't.coin1_id'),
    coin1_action_index: bigOrNull('t.coin1_action_index'),
    coin2: looked('index_coins', 't.coin2_id'),
    coin2_action_index: bigOrNull('t.coin2_action_index'),
    memo,
    status
  }),
  lists: follows('lists', 'Lists of tickers, addresses or lists, and their edits', {
    type: textOrNull('t.type', '1: tickers, 2: addresses, 3: lists'),
    edit: textOrNull('t.edit', '1: items added, 2: items taken away; null: a list of its own'),
    list_action_index: bigOrNull('t.list_action_index'),
    memo,
    status
  }),
  messages: written(
    'messages',
    'Messages to an address',
    {
      coin: textOrNull('t.coin'),
      destination: address('t.destination_id'),
      encryption_method: textOrNull('t.encryption_method'),
      encryption_key: textOrNull('t.encryption_key'),
      encrypted_message: textOrNull('t.encrypted_message'),
      plaintext_message: textOrNull('t.plaintext_message'),
      status
    },
    {
      types: {
        block: messages.block,
        address: messages.address('destination_id'),
        source: messages.source,
        destination: messages.own('address', 'destination_id')
      }
    }
  ),
  sleeps: written(
    'sleeps',
    'Addresses and tokens that rest until a block',
    { type: bigOrNull('t.type'), tick, resume_block: textOrNull('t.resume_block'), memo, status },
    { types: { block: sleeps.block, address: sleeps.source, token: sleeps.own('ticker', 'tick_id') } }
  ),
  sweeps: written(
    'sweeps',
    'All that an address has, moved to another',
    {
      ...Object.fromEntries(
        ['balances', 'ownerships', 'orders', 'swaps', 'dispensers'].map((what) => [what, bigOrNull(`t.${what}`)])
      ),
      destination: address('t.destination_id'),
      memo,
      status
    },
    {
      types: {
        block: sweeps.block,
        address: sweeps.address('destination_id'),
        source: sweeps.source,
        destination: sweeps.own('address', 'destination_id')
      }
    }
  ),
  prices: written(
    'prices',
    'Prices that oracles and validators said',
    {
      version: integerOrNull('t.version', '0: of validators, 1: of an oracle'),
      coin: looked('index_coins', 't.coin_id'),
      tick,
      fiat: looked('index_fiats', 't.fiat_id'),
      value: amountOrNull('t.value'),
      fee: amountOrNull('t.fee'),
      round_number: bigOrNull('t.round_number'),
      round_timestamp: bigOrNull('t.round_timestamp'),
      pair_count: integerOrNull('t.pair_count'),
      pairs_json: textOrNull('t.pairs_json'),
      sig_count: integerOrNull('t.sig_count'),
      sigs_json: textOrNull('t.sigs_json'),
      validation_status: textOrNull('t.validation_status'),
      memo,
      status
    },
    {
      types: {
        block: prices.block,
        address: prices.own('address', 'source_id'),
        source: prices.own('address', 'source_id'),
        token: prices.own('ticker', 'tick_id')
      },
      all: prices.all
    }
  )
} as const satisfies Readonly<Record<string, List>>;
