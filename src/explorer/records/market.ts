import Type from 'typebox';
import { formatAmount, knownAmount, multiplyRatio } from '../../consensus/amount.ts';
import { OrNull } from '../../wire/or-null.ts';
import { readRow, rowSchema, selectList } from '../lists/columns.ts';
import type { Row } from '../lists/list.ts';
import { MARKET_COLUMNS } from '../lists/markets.ts';
import type { Query } from '../read/reader.ts';
import { COIN_SIDE, findAddress, findSide, spellAddress } from '../read/subject.ts';
import { leftOf, offerNow } from './action-parts.ts';
import type { RecordMethod, RecordRead } from './record.ts';

/** A pair as a path names it, by the ids of its tickers; `COIN_SIDE`: the coin of the chain. */
interface Pair {
  readonly one: number;
  readonly two: number;
}

/** Orders of a pair that are looked at, the newest; matches that are counted; levels of a side of an order book. */
const MAX_ORDERS = 20_000;
const MAX_COUNTED = 10_000;
const MAX_LEVELS = 100;
const ONE = knownAmount('1');
const PRICE_PLACES = 8;
const VALID = "(SELECT i.id FROM index_statuses i WHERE i.status = 'valid')";

const PARTS = ':tick1/:tick2';
const Text = Type.String();
const TextOrNull = OrNull(Text);
const paged = (row: Parameters<typeof Type.Object>[0]) =>
  Type.Object({ data: Type.Array(Type.Object(row)), total: OrNull(Type.Integer()) });

/** Reads the pair of a path; null: one side is no token. */
async function readPair({ query, names, question: { parameters } }: RecordRead): Promise<Pair | null> {
  const one = await findSide(query, names, parameters['tick1'] ?? '');
  const two = await findSide(query, names, parameters['tick2'] ?? '');
  return one === null || two === null ? null : { one, two };
}

/** Returns both directions of a pair over a table with sides. */
const inPair = (of: string) =>
  `((${of}.give_tick_id <=> ? AND ${of}.get_tick_id <=> ?) OR (${of}.give_tick_id <=> ? AND ${of}.get_tick_id <=> ?))`;
type Sides<T> = readonly [one: T, two: T];
/** Returns the sides of a pair as orders have them: without a ticker for the coin. Matches and markets have `COIN_SIDE` there. */
const ofOrders = ({ one, two }: Pair): Sides<number | null> => [
  one === COIN_SIDE ? null : one,
  two === COIN_SIDE ? null : two
];
const ofMatches = ({ one, two }: Pair): Sides<number> => [one, two];
const bothWays = <T>([one, two]: Sides<T>) => [one, two, two, one];

export const market: RecordMethod = {
  summary: 'The prices of a pair, seen from its first ticker; empty for a pair that nobody traded',
  tag: 'State',
  paths: [`market/${PARTS}`],
  schema: Type.Object(Type.Partial(rowSchema(MARKET_COLUMNS)).properties),
  read: async (asked) => {
    const pair = await readPair(asked);
    if (!pair) return {};
    const { one, two } = pair;
    const [found] = await asked.query<Row>(
      `SELECT ${selectList(MARKET_COLUMNS)}, t.tick1_id = ? AS is_first FROM markets t
       WHERE (t.tick1_id = ? AND t.tick2_id = ?) OR (t.tick1_id = ? AND t.tick2_id = ?) LIMIT 1`,
      [one, one, two, two, one]
    );
    if (!found) return {};
    const row = readRow(MARKET_COLUMNS, found);
    if (Number(found['is_first']) === 1) return row;
    const turned = Object.entries(row).map(([name, value]) => [name.replace(/^tick([12])/, turn), value]);
    return Object.fromEntries(turned) as Row;
  }
};
const turn = (_: string, side: string) => `tick${side === '1' ? '2' : '1'}`;

/** Reads the id of the address in a path, as the value of its condition; undefined where the path has none. */
async function readAddress({ query, question, databases }: RecordRead): Promise<number | undefined> {
  const { address } = question.parameters;
  if (address === undefined) return undefined;
  return (await findAddress(query, await spellAddress(query, address, databases.network.addresses))) ?? -1;
}

export const marketHistory: RecordMethod = {
  summary: 'Matches of a pair, or those of an address, the newest first',
  tag: 'State',
  paths: [`market/${PARTS}/history`, `market/${PARTS}/history/:address`],
  isPaged: {},
  schema: paged({
    action_index: Text,
    amount: TextOrNull,
    block_index: Text,
    price: TextOrNull,
    timestamp: TextOrNull,
    type: Text
  }),
  read: async (asked) => {
    const pair = await readPair(asked);
    if (!pair) return { data: [], total: 0 };
    const owner = await readAddress(asked);
    const { page, limit, order } = asked.question;
    const ofOwner =
      owner === undefined
        ? ''
        : 'AND ? IN (SELECT s.source_id FROM actions s WHERE s.action_index IN (m.give_action_index, m.get_action_index))';
    const from = `order_matches m WHERE ${inPair('m')} AND m.status_id = ${VALID} ${ofOwner}`;
    const sides = ofMatches(pair);
    const values = [...bothWays(sides), ...(owner === undefined ? [] : [owner])];
    const gives = 'm.give_tick_id <=> ?';
    const [base, quote] = [`IF(${gives}, m.give_amount, m.get_amount)`, `IF(${gives}, m.get_amount, m.give_amount)`];
    const data = await asked.query<Row>(
      `SELECT CAST(m.action_index AS CHAR) AS action_index, ${base} AS amount, ${quote} AS quote,
         IF(${gives}, 'sell', 'buy') AS type, CAST(a.block_index AS CHAR) AS block_index,
         CAST((SELECT b.block_time FROM blocks b WHERE b.block_index = a.block_index LIMIT 1) AS CHAR) AS timestamp
       FROM (SELECT m.* FROM ${from} ORDER BY m.action_index ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ? OFFSET ?) m
       JOIN actions a ON a.action_index = m.action_index ORDER BY m.action_index ${order === 'asc' ? 'ASC' : 'DESC'}`,
      [sides[0], sides[0], sides[0], ...values, limit, (page - 1) * limit]
    );
    return { data: data.map(priced), total: await countUpTo(asked.query, from, values) };
  }
};

/** Returns the amount of a row; null where the side is an ownership. */
const amountOf = (value: unknown) => (value === null || value === '' ? null : knownAmount(String(value)));
const plain = (amount: bigint | null) => (amount === null ? null : formatAmount(amount));

/** Returns the price of one unit, with at most 8 places, rounded half up. MariaDB has no room for a quotient of 55 digits. */
function priceOf(base: bigint | null, quote: bigint | null): bigint | null {
  return base === null || quote === null || base === 0n ? null : multiplyRatio(ONE, quote, base, PRICE_PLACES);
}

function priced({ quote, amount, ...row }: Row): Row {
  const base = amountOf(amount);
  return { ...row, amount: plain(base), price: plain(priceOf(base, amountOf(quote))) };
}

async function countUpTo(
  query: Query,
  from: string,
  values: readonly (string | number | null)[]
): Promise<number | null> {
  const [found] = await query<{ count: number }>(
    `SELECT COUNT(*) AS count FROM (SELECT 1 FROM ${from} LIMIT ${MAX_COUNTED + 1}) c`,
    values
  );
  const count = Number(found?.count ?? 0);
  return count > MAX_COUNTED ? null : count;
}

/** Returns the amount that an order has left. Where fills were rounded it may have got more than it asked for; then none is left. */
const leftAmount = (text: string) => (text.startsWith('-') ? 0n : knownAmount(text));

/** An open order of a pair, seen from its first ticker. */
interface OpenOrder {
  readonly action_index: number;
  readonly type: 'buy' | 'sell';
  readonly amount: bigint;
  readonly price: bigint | null;
  readonly expiration: string | null;
}

/** Open orders among the newest of a pair. */
interface OpenOrders {
  readonly open: readonly OpenOrder[];
  /** Whether the pair has more orders than are looked at: anybody may have made the newest ones, and ended them. */
  readonly isCut: boolean;
}

const NO_ORDERS: OpenOrders = { open: [], isCut: false };

/** Reads the open ones of the newest orders of a pair. */
async function readOpen(query: Query, pair: Pair, owner?: number): Promise<OpenOrders> {
  const sides = ofOrders(pair);
  const gives = 'o.give_tick_id <=> ?';
  const [base, quote] = [`IF(${gives}, o.give_amount, o.get_amount)`, `IF(${gives}, o.get_amount, o.give_amount)`];
  const found = await query<Row>(
    `SELECT o.action_index, IF(${gives}, 'sell', 'buy') AS type, ${base} AS base, ${quote} AS quote,
       CAST(IF(${gives}, ${leftOf('order', 'give')}, ${leftOf('order', 'get')}) AS CHAR) AS amount, ${offerNow('order', 'expiration')} AS expiration
     FROM (SELECT o.* FROM orders o WHERE ${inPair('o')} AND o.status_id = ${VALID} ORDER BY o.action_index DESC LIMIT ${MAX_ORDERS}) o
     WHERE 'open' = (SELECT i.status FROM order_statuses s JOIN index_statuses i ON i.id = s.status_id
       WHERE s.order_action_index = o.action_index ORDER BY s.action_index DESC LIMIT 1)
     ${owner === undefined ? '' : 'AND ? = (SELECT a.source_id FROM actions a WHERE a.action_index = o.action_index)'}`,
    [sides[0], sides[0], sides[0], sides[0], ...bothWays(sides), ...(owner === undefined ? [] : [owner])]
  );
  const open = found.map(
    (row): OpenOrder => ({
      action_index: Number(row['action_index']),
      type: row['type'] === 'sell' ? 'sell' : 'buy',
      amount: leftAmount(String(row['amount'])),
      price: priceOf(amountOf(row['base']), amountOf(row['quote'])),
      expiration: row['expiration'] === null ? null : String(row['expiration'])
    })
  );
  const [counted] = await query<{ count: number }>(
    `SELECT COUNT(*) AS count FROM (SELECT 1 FROM orders o WHERE ${inPair('o')} AND o.status_id = ${VALID} LIMIT ${MAX_ORDERS + 1}) c`,
    bothWays(sides)
  );
  return { open, isCut: Number(counted?.count ?? 0) > MAX_ORDERS };
}

export const marketOrders: RecordMethod = {
  summary: `The open orders among the newest ${MAX_ORDERS} of a pair, or those of an address, the newest first`,
  tag: 'State',
  paths: [`market/${PARTS}/orders`, `market/${PARTS}/orders/:address`],
  isPaged: {},
  schema: paged({
    action_index: Type.Integer(),
    type: Text,
    amount: TextOrNull,
    price: TextOrNull,
    expiration: TextOrNull
  }),
  read: async (asked) => {
    const pair = await readPair(asked);
    const { page, limit, order } = asked.question;
    const { open, isCut } = pair ? await readOpen(asked.query, pair, await readAddress(asked)) : NO_ORDERS;
    const sign = order === 'asc' ? 1 : -1;
    const sorted = open.toSorted((a, b) => sign * (a.action_index - b.action_index));
    const data = sorted
      .slice((page - 1) * limit, page * limit)
      .map((each) => ({ ...each, amount: plain(each.amount), price: plain(each.price) }));
    return { data, total: isCut ? null : open.length };
  }
};

const LevelsSchema = Type.Array(Type.Array(TextOrNull), { description: 'price and amount, the best first' });

export const orderbook: RecordMethod = {
  summary: `The order book of a pair: the open orders among its newest ${MAX_ORDERS}, by price`,
  tag: 'State',
  paths: [`market/${PARTS}/orderbook`],
  schema: Type.Object({
    market: Text,
    bids: LevelsSchema,
    asks: LevelsSchema,
    is_cut: Type.Boolean({
      description: 'whether the pair has older orders, which were not looked at: open ones of these are missing'
    })
  }),
  read: async (asked) => {
    const { tick1, tick2 } = asked.question.parameters;
    const pair = await readPair(asked);
    const { open, isCut } = pair ? await readOpen(asked.query, pair) : NO_ORDERS;
    const side = (type: OpenOrder['type']) =>
      levelsOf(
        open.filter((order) => order.type === type),
        type === 'sell'
      );
    return { market: `${tick1}/${tick2}`, bids: side('buy'), asks: side('sell'), is_cut: isCut };
  }
};

/** Orders of one side by their prices. */
function levelsOf(orders: readonly OpenOrder[], isAscending: boolean): (readonly [price: string, amount: string])[] {
  const amounts = new Map<bigint, bigint>();
  for (const { price, amount } of orders) if (price !== null) amounts.set(price, (amounts.get(price) ?? 0n) + amount);
  const sorted = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1));
  const best = (isAscending ? sorted : sorted.reverse()).slice(0, MAX_LEVELS);
  return best.map(([price, amount]) => [formatAmount(price), formatAmount(amount)] as const);
}
