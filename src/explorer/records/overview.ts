import Type from 'typebox';
import { OrNull } from '../../wire/or-null.ts';
import { BLOCK_COUNTS } from '../lists/block-counts.ts';
import { amountOrNull, bigOrNull, type Columns, integer, rowSchema, ticker } from '../lists/columns.ts';
import type { Filter } from '../lists/list.ts';
import { MARKET_COLUMNS } from '../lists/markets.ts';
import { BLOCK_COLUMNS } from '../lists/state.ts';
import { keyed } from '../lists/ways.ts';
import { timeOf } from '../lists/written.ts';
import type { IndexHints } from '../read/index-hints.ts';
import type { Query } from '../read/reader.ts';
import { readHeight } from '../read/subject.ts';
import { type RecordMethod, readRows } from './record.ts';

/** Spans of the activity, and blocks of each at most. */
export const [SPANS, MOST_BLOCKS] = [48, 30];
/** Newest movements that tell which tokens are in use. */
const LOOKED_AT = 2_000;
/** Holders of a token that are counted. */
export const MOST_HOLDERS = 1_000;
/** Open orders of a pair that are counted. */
const MOST_OPEN = 1_000;
/** Blocks on each side of the one in the middle. */
const AROUND = 4;
/** Records for pages alone: no path leads to them. */
const OF_PAGES = { tag: 'State', paths: [] } as const;

/** Returns the number of actions up to a block: indexes have no gaps. Each statement reads the ends of indexes alone. */
const UP_TO = `COALESCE((SELECT MAX(a.action_index) FROM actions a
  WHERE a.block_index = (SELECT MAX(x.block_index) FROM actions x WHERE x.block_index <= ?)), 0)`;
const EDGES = Array.from({ length: SPANS + 1 }, (_, place) => `${UP_TO} AS e${place}`).join(', ');

export const activity: RecordMethod = {
  ...OF_PAGES,
  summary: 'Actions in equal spans of the newest blocks, the oldest first',
  schema: Type.Object({
    counts: Type.Array(Type.Integer()),
    blocks: Type.Integer({ description: 'in each span' }),
    first: Type.Integer({ description: 'the block that the first span begins with' })
  }),
  read: async ({ query, tip }) => {
    const [ends] = await query<{ first: number | null }>('SELECT MIN(b.block_index) AS first FROM blocks b');
    if (!tip || ends?.first == null) return { counts: [], blocks: 0, first: 0 };
    const all = tip.height - Number(ends.first) + 1;
    const blocks = Math.max(1, Math.min(MOST_BLOCKS, Math.floor(all / SPANS)));
    const spans = Math.min(SPANS, all);
    const before = tip.height - blocks * spans;
    const heights = Array.from({ length: SPANS + 1 }, (_, place) => before + blocks * Math.min(place, spans));
    const [found = {}] = await query<Record<string, number>>(`SELECT ${EDGES}`, heights);
    const counts = Array.from({ length: spans }, (_, place) =>
      Math.max(0, Number(found[`e${place + 1}`]) - Number(found[`e${place}`]))
    );
    return { counts, blocks, first: before + 1 };
  }
};

const AROUND_ROW = { ...rowSchema(BLOCK_COLUMNS).properties, ...BLOCK_COUNTS.schema };

export const blocksAround: RecordMethod = {
  ...OF_PAGES,
  summary: `A block with the ${AROUND} before and behind it, the newest first`,
  takes: 'height',
  schema: Type.Object({ blocks: Type.Array(Type.Object(AROUND_ROW)) }),
  read: async ({ query, question: { query: name = '' } }) => {
    const height = readHeight(name);
    const from = 'blocks b WHERE b.block_index BETWEEN ? AND ? ORDER BY b.block_index DESC';
    const rows = await readRows(query, BLOCK_COLUMNS, from, [height - AROUND, height + AROUND]);
    return { blocks: rows.length === 0 ? [] : await BLOCK_COUNTS.read(query, rows) };
  }
};

const IN_USE: Columns = {
  tick: ticker('t.tick_id'),
  supply: amountOrNull('t.supply'),
  max_supply: amountOrNull('t.max_supply'),
  holders: integer(
    `(SELECT COUNT(*) FROM (SELECT 1 FROM balances b WHERE b.tick_id = ? LIMIT ${MOST_HOLDERS + 1}) h)`,
    `up to ${MOST_HOLDERS + 1}`
  )
};
const LAST: Columns = {
  last_action_index: bigOrNull('a.action_index', 'that moved it'),
  timestamp: timeOf('a.block_index')
};
/** Keys of movements. The index is named: MariaDB would rather read a table as a whole and sort it. */
const [CREDITS, DEBITS] = ['credits', 'debits'].map((table) =>
  keyed('everything', `${table} m`, 'm.action_index', 'TRUE', 'action_index')
) as [Filter, Filter];
const newestOf = (filter: Filter, hints: IndexHints) =>
  `(SELECT m.tick_id, m.action_index FROM ${hints.of(filter).ways[0]!.from} ORDER BY m.action_index DESC LIMIT ${LOOKED_AT})`;

/** Reads the tickers that the newest carried-out actions moved: a refused one moves nothing. */
async function readMoved(query: Query, hints: IndexHints, limit: number) {
  return await query<{ tick_id: number; actions: number; last: number }>(
    `SELECT m.tick_id, COUNT(DISTINCT m.action_index) AS actions, MAX(m.action_index) AS last
     FROM (${newestOf(CREDITS, hints)} UNION ALL ${newestOf(DEBITS, hints)}) m GROUP BY m.tick_id ORDER BY last DESC, actions DESC LIMIT ?`,
    [limit]
  );
}

export const tokensInUse: RecordMethod = {
  ...OF_PAGES,
  summary: 'Tokens that were moved last, the newest first; where these are few, the newest tokens too',
  isPaged: {},
  schema: Type.Object({
    tokens: Type.Array(
      Type.Object({
        ...rowSchema(IN_USE).properties,
        ...rowSchema(LAST).properties,
        actions: Type.Integer({ description: `that moved it, among the newest ${LOOKED_AT} movements` })
      })
    )
  }),
  read: async ({ query, question: { limit }, databases }) => {
    const moved = await readMoved(query, databases.hints, limit);
    const newest = await query<{ tick_id: number }>('SELECT t.tick_id FROM tokens t ORDER BY t.id DESC LIMIT ?', [
      limit
    ]);
    const known = new Set(moved.map(({ tick_id: id }) => Number(id)));
    const others = newest.filter(({ tick_id: id }) => !known.has(Number(id)));
    const wanted = [...moved, ...others.map(({ tick_id }) => ({ tick_id, actions: 0, last: null }))];
    const tokens: Record<string, unknown>[] = [];
    for (const { tick_id: id, actions, last } of wanted.slice(0, limit)) {
      const [token] = await readRows(query, IN_USE, 'tokens t WHERE t.tick_id = ? LIMIT 1', [Number(id), Number(id)]);
      if (!token) continue;
      const [newestMove] = await readRows(query, LAST, 'actions a WHERE a.action_index = ?', [Number(last ?? 0)]);
      tokens.push({ ...token, last_action_index: null, timestamp: null, ...newestMove, actions: Number(actions) });
    }
    return { tokens };
  }
};

/** Open orders of a pair, counted up to a number; only our indexer has their table. */
const OPEN_ORDERS = `SELECT COUNT(*) AS open FROM (SELECT 1 FROM open_orders o WHERE o.market_id = ? LIMIT ${MOST_OPEN + 1}) c`;
const NO_SUCH_TABLE = 1146;

async function countOpen(query: Query, market: unknown): Promise<number | null> {
  try {
    const [found] = await query<{ open: number }>(OPEN_ORDERS, [Number(market)]);
    return Number(found?.open ?? 0);
  } catch (caught) {
    if ((caught as { readonly errno?: number }).errno !== NO_SUCH_TABLE) throw caught;
    return null;
  }
}

const NEWEST_MARKETS = 'markets t ORDER BY t.last_updated DESC, t.id DESC LIMIT ?';
const OF_SIDE = (side: 1 | 2) => `(SELECT m.id FROM markets m WHERE m.tick${side}_id = ? ORDER BY m.id DESC LIMIT ?)`;
const MARKETS_OF = `(${OF_SIDE(1)} UNION ${OF_SIDE(2)}) k STRAIGHT_JOIN markets t ON t.id = k.id
  ORDER BY t.last_updated DESC, t.id DESC LIMIT ?`;

export const activeMarkets: RecordMethod = {
  ...OF_PAGES,
  summary: 'Pairs whose prices or offers changed last: all, or those of a token',
  takes: 'id of a ticker, or nothing',
  isPaged: {},
  schema: Type.Object({
    markets: Type.Array(Type.Object({ ...rowSchema(MARKET_COLUMNS).properties, open_orders: OrNull(Type.Integer()) }))
  }),
  read: async ({ query, question: { query: id, limit } }) => {
    const [from, values] =
      id === undefined
        ? ([NEWEST_MARKETS, [limit]] as const)
        : ([MARKETS_OF, [Number(id), limit, Number(id), limit, limit]] as const);
    const markets: Record<string, unknown>[] = [];
    for (const market of await readRows(query, MARKET_COLUMNS, from, values))
      markets.push({ ...market, open_orders: await countOpen(query, market['id']) });
    return { markets };
  }
};

export const holderCount: RecordMethod = {
  ...OF_PAGES,
  summary: 'Number of the holders of a token',
  takes: 'id of a ticker',
  schema: Type.Object({ holders: Type.Integer({ description: `up to ${MOST_HOLDERS + 1}` }) }),
  read: async ({ query, question: { query: id = '' } }) => {
    const [found] = await query<{ holders: number }>(
      `SELECT COUNT(*) AS holders FROM (SELECT 1 FROM balances b WHERE b.tick_id = ? LIMIT ${MOST_HOLDERS + 1}) h`,
      [Number(id)]
    );
    return { holders: Number(found?.holders ?? 0) };
  }
};
