import Type from 'typebox';
import { address, big, bigOrNull, type Columns, looked, rowSchema, textOrNull } from '../lists/columns.ts';
import { DETAILS } from '../lists/lists.ts';
import { BLOCK_COLUMNS } from '../lists/state.ts';
import { ACTION_COLUMNS } from '../lists/written.ts';
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
 * Finds the height of the ledger's block that has a hash on the chain; null where it has none.
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
  block_index: bigOrNull('x.block_index'),
  timestamp: bigOrNull('(SELECT b.block_time FROM blocks b WHERE b.block_index = x.block_index LIMIT 1)'),
  source: address('x.source_id'),
  tx_data: textOrNull('x.data', 'what it said'),
  actions_total: big('(SELECT COUNT(*) FROM actions a WHERE a.tx_index = x.tx_index)')
};
/** Answer about a transaction that the ledger does not have yet. */
const NOT_YET = { actions: [], tx_data: null };

export const transaction: RecordMethod = {
  summary: 'A transaction with its actions, by its hash or its index; without a `tx_index` while the ledger has none',
  tag: 'Actions',
  takes: '64 hex digits, or a transaction index',
  types: ['tx_hash', 'tx_index'],
  schema: Type.Object({
    ...Type.Partial(rowSchema(TRANSACTION)).properties,
    tx_data: rowSchema(TRANSACTION).properties['tx_data']!,
    actions: Type.Array(Type.Object({ ...rowSchema(ACTION_COLUMNS).properties, ...DETAILS.schema }), {
      description: `the newest ${MAX_ROWS} of \`actions_total\``
    })
  }),
  read: async ({ query, question: { query: name = '', type } }) => {
    const hash = type === 'tx_index' ? null : readHash(name);
    const index = type !== 'tx_hash' && /^\d{1,15}$/.test(name) ? Number(name) : null;
    const where =
      hash === null ? 'x.tx_index = ?' : 'x.tx_hash_id = (SELECT i.id FROM index_transactions i WHERE i.hash = ?)';
    const [found] = await readRows(query, TRANSACTION, `transactions x WHERE ${where} LIMIT 1`, [hash ?? index]);
    if (!found) return NOT_YET;
    const from = `actions a WHERE a.tx_index = ? ORDER BY a.action_index DESC LIMIT ${MAX_ROWS}`;
    const actions = await readRows(query, ACTION_COLUMNS, from, [Number(found['tx_index'])]);
    return { ...found, actions: actions.length === 0 ? [] : await DETAILS.read(query, actions) };
  }
};
