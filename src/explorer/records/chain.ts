import Type from 'typebox';
import { address, big, bigOrNull, type Columns, integerOrNull, looked, rowSchema, text } from '../lists/columns.ts';
import { BLOCK_COLUMNS } from '../lists/state.ts';
import type { Query } from '../read/reader.ts';
import { readHash, readHeight } from '../read/subject.ts';
import { type Databases, MAX_ROWS, type RecordMethod, readRows, unknown } from './record.ts';

const span = (from: string, column: string, condition: string) =>
  big(`(SELECT COALESCE(MAX(${column}) - MIN(${column}) + 1, 0) FROM ${from} WHERE ${condition})`);
const BLOCK: Columns = {
  ...BLOCK_COLUMNS,
  actions: span('actions x', 'x.action_index', 'x.block_index = b.block_index'),
  transactions: span('transactions x', 'x.tx_index', 'x.block_index = b.block_index')
};

export const block: RecordMethod = {
  summary: 'A block, by its height or by the hash that the chain gives it',
  tag: 'Blocks',
  takes: 'height or 64 hex digits',
  schema: rowSchema(BLOCK),
  isSettled: true,
  read: async ({ query, question: { query: name = '' }, databases }) => {
    const hash = readHash(name);
    const height = hash === null ? readHeight(name) : await findHeight(query, databases, hash);
    const [found] = await readRows(query, BLOCK, 'blocks b WHERE b.block_index = ? LIMIT 1', [height]);
    return found ?? unknown('block', name);
  }
};

/**
 * The height of the block of the ledger that has a hash on the chain; null where it has none.
 *
 * The decoder knows all hashes, and may be on another branch than the ledger, or ahead of it: what it says counts where the ledger
 * has this hash at that height.
 */
export async function findHeight(
  query: Query,
  { decoder, network: { undoDepth } }: Pick<Databases, 'decoder' | 'network'>,
  hash: string
): Promise<number | null> {
  const wanted = hash.toLowerCase();
  const newest = await query<{ height: number; hash: string }>(
    `SELECT c.block_index AS height, c.block_hash AS hash FROM chain_blocks c ORDER BY c.block_index DESC LIMIT ${undoDepth}`
  );
  const recent = newest.find((block) => block.hash === wanted);
  if (recent) return Number(recent.height);
  const [found] = await decoder((ask) =>
    ask<{ height: number; time: number }>(
      'SELECT b.block_index AS height, b.block_time AS time FROM blocks b JOIN index_transactions i ON i.id = b.block_hash_id WHERE i.hash = ?',
      [wanted]
    )
  );
  if (!found) return null;
  const [own] = await query<{ hash: string | null; time: number }>(
    `SELECT (SELECT c.block_hash FROM chain_blocks c WHERE c.block_index = b.block_index) AS hash, b.block_time AS time
     FROM blocks b WHERE b.block_index = ? LIMIT 1`,
    [found.height]
  );
  if (!own) return null;
  const isSame = own.hash === null ? Number(own.time) === Number(found.time) : own.hash === wanted;
  return isSame ? Number(found.height) : null;
}

const TRANSACTION: Columns = {
  tx_index: big('x.tx_index'),
  tx_hash: looked('index_transactions', 'x.tx_hash_id'),
  block_index: integerOrNull('x.block_index'),
  timestamp: integerOrNull('(SELECT b.block_time FROM blocks b WHERE b.block_index = x.block_index LIMIT 1)'),
  source: address('x.source_id')
};
const ACTIONS_OF = { actions_total: big('(SELECT COUNT(*) FROM actions a WHERE a.tx_index = x.tx_index)') };
const OF_TRANSACTION: Columns = {
  action_index: big('a.action_index'),
  action: looked('index_actions', 'a.action_id')
};

export const transaction: RecordMethod = {
  summary: 'A transaction with its actions, by its hash or its index',
  tag: 'Actions',
  takes: '64 hex digits, or a transaction index',
  types: ['tx_hash', 'tx_index'],
  isSettled: true,
  schema: Type.Object({
    ...rowSchema({ ...TRANSACTION, ...ACTIONS_OF }).properties,
    actions: Type.Array(rowSchema(OF_TRANSACTION), {
      description: `the first ${MAX_ROWS} of \`actions_total\`; \`actions?txid=\` has all`
    })
  }),
  read: async ({ query, question: { query: name = '', type } }) => {
    const hash = type === 'tx_index' ? null : readHash(name);
    const index = type !== 'tx_hash' && /^\d{1,15}$/.test(name) ? Number(name) : null;
    const where =
      hash === null ? 'x.tx_index = ?' : 'x.tx_hash_id = (SELECT i.id FROM index_transactions i WHERE i.hash = ?)';
    const [found] = await readRows(query, { ...TRANSACTION, ...ACTIONS_OF }, `transactions x WHERE ${where} LIMIT 1`, [
      hash ?? index
    ]);
    if (!found) return unknown('transaction', name);
    const from = `actions a WHERE a.tx_index = ? ORDER BY a.action_index LIMIT ${MAX_ROWS}`;
    return { ...found, actions: await readRows(query, OF_TRANSACTION, from, [Number(found['tx_index'])]) };
  }
};

/** The newest number of tables whose numbers are dealt without gaps. */
const TOTALS: Columns = {
  actions: big('(SELECT COALESCE(MAX(action_index), 0) FROM actions)'),
  transactions: big('(SELECT COALESCE(MAX(tx_index), 0) FROM transactions)'),
  addresses: big('(SELECT COALESCE(MAX(id), 0) FROM index_addresses)'),
  tickers: big('(SELECT COALESCE(MAX(id), 0) FROM index_tickers)')
};

const PRICE: Columns = {
  pair: text('p.coin_pair'),
  price: text('p.price'),
  round: big('p.round_number'),
  reference_block: bigOrNull('p.reference_block', 'the block that the round was of'),
  timestamp: integerOrNull('p.block_timestamp', 'Unix seconds')
};

/** Prices of the newest round that validators agreed on. */
async function readPrices(query: Query) {
  const from = "price_snapshots p WHERE p.status = 'finalized' ORDER BY p.round_number DESC, p.coin_pair DESC LIMIT ?";
  const newest = await readRows(query, PRICE, from, [MAX_ROWS]);
  return newest.filter(({ round }) => round === newest[0]?.['round']).reverse();
}

export const network: RecordMethod = {
  summary: 'The network: its newest block, how much there is, prices, and when an action is final',
  tag: 'State',
  schema: Type.Object({
    coin: Type.String(),
    chain: Type.String(),
    network: Type.String(),
    tip: Type.Union([rowSchema(BLOCK_COLUMNS), Type.Null()]),
    totals: rowSchema(TOTALS),
    prices: Type.Array(rowSchema(PRICE), { description: 'of the newest round that validators agreed on' }),
    finality: Type.Object({
      confirmations: Type.Integer({ description: 'after which other chains rely on an action' }),
      undo_depth: Type.Integer({ description: 'blocks that a reorg can replace' })
    })
  }),
  read: async ({
    query,
    databases: {
      network: { code, chain, network: name, confirmations, undoDepth }
    }
  }) => {
    const [tip] = await readRows(query, BLOCK_COLUMNS, 'blocks b ORDER BY b.block_index DESC LIMIT 1', []);
    const [totals] = await readRows(query, TOTALS, 'DUAL', []);
    const finality = { confirmations, undo_depth: undoDepth };
    const prices = await readPrices(query);
    return { coin: code, chain, network: name, tip: tip ?? null, totals, prices, finality };
  }
};
