import Type from 'typebox';
import { CHAIN_NETWORKS } from '../../coin/chains.ts';
import { OrNull } from '../../wire/or-null.ts';
import { big, bigOrNull, type Columns, rowSchema, text } from '../lists/columns.ts';
import { LISTS } from '../lists/lists.ts';
import { BLOCK_COLUMNS } from '../lists/state.ts';
import { every } from '../lists/ways.ts';
import type { Query } from '../read/reader.ts';
import type { Tip } from '../read/tip.ts';
import { type Databases, MAX_ROWS, type RecordMethod, readRows } from './record.ts';

/** The newest number of tables whose numbers are dealt without gaps. */
const DEALT: Columns = {
  actions: big('(SELECT COALESCE(MAX(action_index), 0) FROM actions)'),
  transactions: big('(SELECT COALESCE(MAX(tx_index), 0) FROM transactions)'),
  tickers: big('(SELECT COALESCE(MAX(id), 0) FROM index_tickers)')
};

/** Lists whose lengths the answer has, by the tables of their rows. */
const COUNTED = [
  'addresses',
  'airdrops',
  'batches',
  'broadcasts',
  'callbacks',
  'coinpay_expires',
  'coinpay_obligations',
  'coinpays',
  'destroys',
  'dispensers',
  'dispenses',
  'dividends',
  'files',
  'issues',
  'links',
  'lists',
  'messages',
  'mints',
  'order_cancels',
  'order_edits',
  'order_matches',
  'orders',
  'prices',
  'sends',
  'sleeps',
  'swap_cancels',
  'swap_edits',
  'swap_matches',
  'swaps',
  'sweeps'
] as const;
/** Lists that have another name than their table. */
const OTHERS: Readonly<Record<string, readonly [method: string, table: string, key: string]>> = {
  anchor_actions: ['anchors', 'anchor_actions', 'action_index'],
  full_node_verifications: ['full_node_verifications', 'full_node_verifications', 'id'],
  tokens: ['tokens', 'tokens', 'id']
};
const TOTALS = new Map(
  [...COUNTED.map((table) => [table, [table, table, 'action_index']] as const), ...Object.entries(OTHERS)].map(
    ([name, [method, table, key]]) => {
      const filter = every(`${table} t`, `t.${key}`, { isShared: LISTS[method]!.within.length > 0 });
      return [name, { list: LISTS[method]!, filter, value: '', name: `all ${method}` }] as const;
    }
  )
);

/** Reads the lengths of lists; null: it is being counted. */
async function readTotals(query: Query, { totals }: Databases, tip: Tip | null) {
  const found: Record<string, number | null> = {};
  for (const [name, asked] of TOTALS) found[name] = tip === null ? 0 : await totals.read(query, asked, tip);
  const [dealt = {}] = await readRows(query, DEALT, 'DUAL', []);
  return { ...Object.fromEntries(Object.entries(dealt).map(([name, value]) => [name, Number(value)])), ...found };
}

const PRICE: Columns = {
  pair: text('p.coin_pair'),
  price: text('p.price'),
  round: big('p.round_number'),
  reference_block: bigOrNull('p.reference_block', 'the block that the round was of'),
  timestamp: bigOrNull('p.block_timestamp', 'Unix seconds')
};

/** Prices of the newest round that validators agreed on. */
async function readPrices(query: Query) {
  const from = "price_snapshots p WHERE p.status = 'finalized' ORDER BY p.round_number DESC, p.coin_pair DESC LIMIT ?";
  const newest = await readRows(query, PRICE, from, [MAX_ROWS]);
  return newest.filter(({ round }) => round === newest[0]?.['round']).reverse();
}

/** Returns the prices of a coin in others, as far as validators agreed on them. */
function pricesOf(symbol: string, prices: readonly Record<string, unknown>[]) {
  const price = (of: string) => prices.find(({ pair }) => pair === `${symbol}/${of}`)?.['price'] ?? null;
  return { btc: symbol === 'BTC' ? '1' : price('BTC'), usd: price('USD') };
}

/** Returns the confirmations after which other chains rely on an action, by the coins of a kind of network. */
const finalityOf = (kind: string) =>
  Object.fromEntries(
    CHAIN_NETWORKS.filter(({ network }) => network === kind).map(({ ticker, confirmations }) => [ticker, confirmations])
  );
/** The token that the newest fee was paid in. */
const GAS = 'SELECT i.tick FROM fees f JOIN index_tickers i ON i.id = f.tick_id ORDER BY f.action_index DESC LIMIT 1';

const TextOrNull = OrNull(Type.String());
const CoinSchema = Type.Object({
  name: TextOrNull,
  symbol: TextOrNull,
  price: Type.Object({ btc: TextOrNull, usd: TextOrNull })
});
const IntegerOrNull = OrNull(Type.Integer());

export const network: RecordMethod = {
  summary: 'The network: its newest block, how much there is, prices, and when an action is final',
  tag: 'State',
  changesBetweenBlocks: true,
  schema: Type.Object({
    coin: CoinSchema,
    xchain: CoinSchema,
    chain: Type.String(),
    network: Type.Object({
      block: IntegerOrNull,
      time: IntegerOrNull,
      unconfirmed: IntegerOrNull,
      name: Type.String()
    }),
    fee: Type.Object(
      { low: Type.Null(), medium: Type.Null(), high: Type.Null() },
      { description: 'an explorer has no node: ask `estimate_fee` of an encoder' }
    ),
    tip: OrNull(rowSchema(BLOCK_COLUMNS)),
    totals: Type.Unsafe<Record<string, number | null>>({
      type: 'object',
      description: 'how long each list is; null while it is being counted'
    }),
    prices: Type.Array(rowSchema(PRICE), { description: 'of the newest round that validators agreed on' }),
    finality: Type.Unsafe<Record<string, number>>({
      type: 'object',
      description:
        'confirmations after which other chains rely on an action, by their coins; `confirmations` of this one, and `undo_depth`, the blocks that a reorg can replace'
    })
  }),
  read: async ({ query, tip: newest, databases }) => {
    const { code, ticker, chain, network: kind, confirmations, undoDepth } = databases.network;
    const [tip] = await readRows(query, BLOCK_COLUMNS, 'blocks b ORDER BY b.block_index DESC LIMIT 1', []);
    const prices = await readPrices(query);
    const [{ tick: gas = null } = {}] = await query<{ tick: string | null }>(GAS);
    const whole = (value: unknown) => (value === undefined || value === null ? null : Number(value));
    return {
      coin: { name: chain, symbol: code, price: pricesOf(ticker, prices) },
      xchain: { name: gas, symbol: gas, price: pricesOf(String(gas), prices) },
      chain,
      network: { block: whole(tip?.['block_index']), time: whole(tip?.['timestamp']), unconfirmed: null, name: kind },
      fee: { low: null, medium: null, high: null },
      tip: tip ?? null,
      totals: await readTotals(query, databases, newest),
      prices,
      finality: { ...finalityOf(kind), confirmations, undo_depth: undoDepth }
    };
  }
};
