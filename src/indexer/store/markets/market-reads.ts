import { rows, type Statements } from '../../../db/connection.ts';
import { pages } from '../../../db/pages.ts';
import { readDecimal } from '../read-decimal.ts';
import { tupleOf } from '../row-encoder.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { DAY_S, figuresOf, formatPrice, type PairTrade } from './market-figures.ts';
import type { Market } from './market-refreshes.ts';

/** Market whose figures are read. */
interface ReadMarket extends Market {
  /** First action whose match may be of the last day; null where there is none. */
  readonly first: number | null;
}

/** Direction of a pair: matches whose newer order gives one ticker and gets the other. */
interface Way {
  readonly market: ReadMarket;
  readonly give: number;
  readonly get: number;
}

/** Match of a way. */
interface Match {
  readonly at: number;
  readonly trade: PairTrade;
}

/** Most matches of a day, in each direction of a pair, that count for its figures: the newest ones. */
const MOST_TRADES = 10_000;
/** Matches of a way that are read with those of many others. A way with more of the last day is read with few others. */
const FEW = 20;
const TRADED_PER_STATEMENT = 1_000;
const WAYS_PER_STATEMENT = 200;
const LONG_WAYS_PER_STATEMENT = 10;
const TIMES_PER_STATEMENT = 5_000;
const MATCHES_OF_PAIR = 'give_tick_id_get_tick_id_status_id';

/**
 * Returns all columns of markets' rows that are figures. Anybody may touch tens of thousands of pairs in a block, so
 * one statement reads those of many.
 */
export async function readFigures(
  from: Statements,
  markets: readonly ReadMarket[]
): Promise<readonly Record<string, string>[]> {
  const ways = markets.flatMap((market): Way[] => {
    const { tick1, tick2 } = market;
    const there = { market, give: tick1, get: tick2 };
    return tick1 === tick2 ? [there] : [there, { market, give: tick2, get: tick1 }];
  });
  const matches = await readMatches(from, ways);
  const times = await readTimes(
    from,
    ways.flatMap(({ market: { first } }, n) =>
      first === null ? [] : matches[n]!.flatMap(({ at }) => (at >= first ? [at] : []))
    )
  );
  const quotes = await readQuotes(from, markets);
  const byMarket = Map.groupBy(matches.entries(), ([n]) => ways[n]!.market);
  return markets.map((market) => {
    const newest = byMarket
      .get(market)!
      .flatMap(([, own]) => own)
      .sort((a, b) => b.at - a.at);
    const dayAgo = (market.updated ?? 0) - DAY_S;
    const timed = newest.map(({ at, trade }) => ({ trade, time: times.get(at) ?? null }));
    const day = timed.filter(({ time }) => time !== null && time >= dayAgo).map(({ trade }) => trade);
    const before = timed.find(({ time }) => time === null || time <= dayAgo)?.trade ?? null;
    return { ...figuresOf({ last: newest[0]?.trade ?? null, dayAgo: before, day }), ...quotes.get(market.id)! };
  });
}

/**
 * Reads the matches of ways from the first action of the day on, no more than MOST_TRADES of each, and the newest one
 * below it.
 */
async function readMatches(from: Statements, ways: readonly Way[]): Promise<readonly (readonly Match[])[]> {
  const newest = `ORDER BY m.action_index DESC LIMIT ${FEW + 1}`;
  const traded = await findTraded(from, ways);
  const few = await readSelected(from, traded, WAYS_PER_STATEMENT, (way) => [selectOf(way, newest)]);
  const foundIn = new Map(traded.map((way, place) => [way, few[place]!]));
  const found = ways.map((way) => foundIn.get(way) ?? []);
  const isOfDay = ({ first }: ReadMarket, { at }: Match) => first !== null && at >= first;
  const long = ways.flatMap((way, n) => (found[n]!.filter((one) => isOfDay(way.market, one)).length > FEW ? [n] : []));
  const whole = await readSelected(
    from,
    long.map((n) => ways[n]!),
    LONG_WAYS_PER_STATEMENT,
    (way) => [
      selectOf(way, `AND m.action_index >= ${way.market.first} ORDER BY m.action_index DESC LIMIT ${MOST_TRADES}`),
      selectOf(way, `AND m.action_index < ${way.market.first} ORDER BY m.action_index DESC LIMIT 1`)
    ]
  );
  const longer = new Map(long.map((n, place) => [n, whole[place]!]));
  return ways.map(({ market }, n) => {
    const all = longer.get(n) ?? found[n]!;
    const older = all.find((one) => !isOfDay(market, one));
    return [...all.filter((one) => isOfDay(market, one)), ...(older ? [older] : [])];
  });
}

/** Returns the ways that have matches, or may have: most pairs that are touched in masses have none. */
async function findTraded(from: Statements, ways: readonly Way[]): Promise<readonly Way[]> {
  const traded: Way[] = [];
  for (let at = 0; at < ways.length; at += TRADED_PER_STATEMENT) {
    const some = ways.slice(at, at + TRADED_PER_STATEMENT);
    const found = await rows<{ n: number }>(
      from,
      `WITH w (n, give, got) AS (VALUES ${some.map(({ give, get }, n) => tupleOf([n, give, get])).join(', ')})
       SELECT w.n FROM w WHERE (SELECT m.action_index FROM order_matches m FORCE INDEX (${MATCHES_OF_PAIR})
         WHERE m.give_tick_id = w.give AND m.get_tick_id = w.got AND m.status_id = ${VALID_STATUS} LIMIT 1) IS NOT NULL`
    );
    for (const { n } of found) traded.push(some[Number(n)]!);
  }
  return traded;
}

/** Reads the matches that the selects of ways name, the newest first. */
async function readSelected(
  from: Statements,
  ways: readonly Way[],
  perStatement: number,
  selectsOf: (way: Way) => readonly string[]
): Promise<readonly (readonly Match[])[]> {
  const found: Match[][] = [];
  for (let at = 0; at < ways.length; at += perStatement) {
    const some = ways.slice(at, at + perStatement);
    const parts = some.flatMap((way, n) => selectsOf(way).map((select) => `(SELECT ${n} AS n, ${select})`));
    const read = await rows<Record<'n' | 'at', number> & Record<'give_amount' | 'get_amount', string>>(
      from,
      `${parts.join(' UNION ALL ')} ORDER BY at DESC`
    );
    const byWay = Map.groupBy(read, ({ n }) => Number(n));
    for (const [n, { give, market }] of some.entries())
      found.push(
        (byWay.get(n) ?? []).map((row) => {
          const [given, got] = [readDecimal(row.give_amount), readDecimal(row.get_amount)];
          const [amount1, amount2] = give === market.tick1 ? [given, got] : [got, given];
          return { at: Number(row.at), trade: { amount1, amount2 } };
        })
      );
  }
  return found;
}

function selectOf({ give, get }: Way, rest: string): string {
  return `m.action_index AS at, m.give_amount, m.get_amount FROM order_matches m FORCE INDEX (${MATCHES_OF_PAIR})
    WHERE m.give_tick_id = ${give} AND m.get_tick_id = ${get} AND m.status_id = ${VALID_STATUS}
      AND m.give_coin_id = m.get_coin_id AND m.give_amount IS NOT NULL AND m.get_amount IS NOT NULL ${rest}`;
}

/** Reads the times of the blocks of actions, by action. */
async function readTimes(from: Statements, actions: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const times = new Map<number, number>();
  for (const part of pages(actions, TIMES_PER_STATEMENT)) {
    const found = await rows<{ action: number; time: number }>(
      from,
      `SELECT a.action_index AS action, b.block_time AS time FROM actions a
       STRAIGHT_JOIN blocks b FORCE INDEX (block_index) ON b.block_index = a.block_index WHERE a.action_index IN (?)`,
      [part]
    );
    for (const { action, time } of found) times.set(Number(action), Number(time));
  }
  return times;
}

/** Reads the best bids and asks of open orders, both directions together, by market. */
async function readQuotes(
  from: Statements,
  markets: readonly ReadMarket[]
): Promise<ReadonlyMap<number, Record<string, string>>> {
  if (markets.length === 0) return new Map();
  const best = (price: string, order: string, name: string) =>
    `(SELECT o.${price} FROM open_orders o WHERE o.market_id = w.id ORDER BY o.market_id ${order}, o.${price} ${order} LIMIT 1) AS ${name}`;
  const found = await rows<Record<string, string | null> & { id: number }>(
    from,
    `WITH w (id) AS (VALUES ${markets.map(({ id }) => tupleOf([id])).join(', ')}) SELECT w.id,
       ${best('price1', 'DESC', 'tick1_bid')}, ${best('price1', 'ASC', 'tick1_ask')},
       ${best('price2', 'DESC', 'tick2_bid')}, ${best('price2', 'ASC', 'tick2_ask')} FROM w`
  );
  return new Map(
    found.map(({ id, ...prices }) => [
      Number(id),
      Object.fromEntries(Object.entries(prices).map(([name, price]) => [name, formatPrice(BigInt(price ?? 0))]))
    ])
  );
}
