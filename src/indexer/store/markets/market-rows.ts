import { rows, type Statements } from '../../../db/connection.ts';
import { chunks, write } from '../../../db/statement-batch.ts';
import { readDecimal } from '../read-decimal.ts';
import { tupleOf } from '../row-encoder.ts';
import { insert } from '../row-writer.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { DAY_S, priceOf } from './market-figures.ts';
import { readFigures } from './market-reads.ts';
import { type Market, marketKey, type Pair } from './market-refreshes.ts';

/** Valid order with its newest status. */
export interface MarketOrder extends Pair {
  readonly index: number;
  /** Amounts of both sides; null where one side is an ownership, which has no price. */
  readonly amounts: { readonly get: bigint; readonly give: bigint } | null;
  readonly isOpen: boolean;
}

const PER_STATEMENT = 2_000;
/** Markets whose figures one statement reads. */
const MARKETS_AT_ONCE = 500;
const PRICE_DIGITS = 80;

/** Reads those of the given orders that are valid, the oldest first. */
export async function readMarketOrders(from: Statements, indexes: readonly number[]): Promise<MarketOrder[]> {
  const orders: MarketOrder[] = [];
  const sorted = [...new Set(indexes)].sort((a, b) => a - b);
  for (let at = 0; at < sorted.length; at += PER_STATEMENT) {
    const found = await rows<Record<string, string | number | null>>(
      from,
      `SELECT o.action_index, COALESCE(o.get_tick_id, 0) AS tick1, COALESCE(o.give_tick_id, 0) AS tick2, o.get_coin_id AS coin,
         o.get_amount, o.give_amount, o.get_ownership + o.give_ownership AS ownerships,
         (SELECT i.status FROM order_statuses s JOIN index_statuses i ON i.id = s.status_id
          WHERE s.order_action_index = o.action_index ORDER BY s.action_index DESC LIMIT 1) AS status
       FROM orders o WHERE o.action_index IN (?) AND o.status_id = ${VALID_STATUS} AND o.give_coin_id = o.get_coin_id
       ORDER BY o.action_index`,
      [sorted.slice(at, at + PER_STATEMENT)]
    );
    for (const row of found)
      orders.push({
        index: Number(row['action_index']),
        tick1: Number(row['tick1']),
        tick2: Number(row['tick2']),
        coin: Number(row['coin']),
        amounts:
          Number(row['ownerships']) > 0
            ? null
            : { get: readDecimal(row['get_amount']), give: readDecimal(row['give_amount']) },
        isOpen: row['status'] === 'open'
      });
  }
  return orders;
}

/** Reads the markets of those pairs that have rows. */
export async function readMarkets(from: Statements, pairs: readonly Pair[]): Promise<Market[]> {
  const wanted = [...new Map(pairs.map((pair) => [marketKey(pair), pair])).values()];
  const found: Market[] = [];
  for (let at = 0; at < wanted.length; at += PER_STATEMENT) {
    const tuples = wanted
      .slice(at, at + PER_STATEMENT)
      .flatMap(({ tick1, tick2 }) => [tupleOf([tick1, tick2]), tupleOf([tick2, tick1])]);
    found.push(...(await selectMarkets(from, `WHERE (tick1_id, tick2_id) IN (${tuples.join(',')})`)));
  }
  return found;
}

/** Reads the markets whose last refresh is before a time, the oldest first. @param time epoch seconds */
export async function readStaleMarkets(from: Statements, time: number, most: number): Promise<Market[]> {
  return await selectMarkets(from, 'WHERE last_updated < ? ORDER BY last_updated, id LIMIT ?', [time, most]);
}

/** Reads markets by the ids of their rows. */
export async function readMarketsById(from: Statements, ids: readonly number[]): Promise<Market[]> {
  return ids.length === 0 ? [] : await selectMarkets(from, 'WHERE id IN (?)', [ids]);
}

async function selectMarkets(from: Statements, where: string, values: readonly unknown[] = []): Promise<Market[]> {
  const found = await rows<Record<string, number>>(
    from,
    `SELECT id, tick1_id AS tick1, tick2_id AS tick2, coin1_id AS coin, last_updated AS updated FROM markets ${where}`,
    values
  );
  return found.map(({ id, tick1, tick2, coin, updated }) => ({
    id: Number(id),
    tick1: Number(tick1),
    tick2: Number(tick2),
    coin: Number(coin),
    updated: Number(updated)
  }));
}

/** Notes which of some orders are open. @param markets the markets of their pairs */
export async function writeOpenOrders(
  to: Statements,
  orders: readonly MarketOrder[],
  markets: readonly Market[]
): Promise<void> {
  const byKey = new Map(markets.map((market) => [marketKey(market), market]));
  const closed = orders.filter(({ isOpen }) => !isOpen).map(({ index }) => String(index));
  for (const slice of chunks(closed, (text) => text))
    await write(to, `DELETE FROM open_orders WHERE order_action_index IN (${slice.join(',')})`);
  const opened = orders.flatMap((order) => {
    const { index, tick1, amounts, isOpen } = order;
    if (!isOpen || amounts === null) return [];
    const market = byKey.get(marketKey(order))!;
    const [own, other] = market.tick1 === tick1 ? [amounts.get, amounts.give] : [amounts.give, amounts.get];
    const prices = [priceOf(other, own), priceOf(own, other)];
    return prices.includes(0n) ? [] : [tupleOf([index, market.id, ...prices.map(digitsOf)])];
  });
  const columns = ['order_action_index', 'market_id', 'price1', 'price2'];
  await insert(to, 'open_orders', columns, opened, 'ON DUPLICATE KEY UPDATE market_id = VALUES(market_id)');
}

const digitsOf = (price: bigint) => price.toString().padStart(PRICE_DIGITS, '0');

/** Writes the rows of markets, as the ledger and the times of their last refreshes give them. */
export async function writeMarketRows(to: Statements, markets: readonly Market[]): Promise<void> {
  for (let at = 0; at < markets.length; at += MARKETS_AT_ONCE) {
    const some = markets.slice(at, at + MARKETS_AT_ONCE);
    const times = [...new Set(some.map(({ updated }) => updated ?? 0))];
    const firsts = new Map(
      await Promise.all(times.map(async (time) => [time, await firstActionOfDay(to, time)] as const))
    );
    const figures = await readFigures(
      to,
      some.map((market) => ({ ...market, first: firsts.get(market.updated ?? 0)!.action }))
    );
    const columns = ['id', 'tick1_id', 'tick2_id', 'coin1_id', 'coin2_id', 'last_updated', ...Object.keys(figures[0]!)];
    const tuples = some.map(({ id, tick1, tick2, coin, updated }, place) =>
      tupleOf([id, tick1, tick2, coin, coin, updated ?? 0, ...Object.values(figures[place]!)])
    );
    const overwrite = columns.slice(5).map((column) => `${column} = VALUES(${column})`);
    await insert(to, 'markets', columns, tuples, `ON DUPLICATE KEY UPDATE ${overwrite.join(', ')}`);
  }
}

/**
 * Returns the first action of the first block within the day before a time. It is null if there is none, and for the
 * time 0, which stands for a market that was never refreshed.
 */
async function firstActionOfDay(from: Statements, time: number): Promise<{ readonly action: number | null }> {
  if (time === 0) return { action: null };
  const [first] = await rows<{ action: number }>(
    from,
    `SELECT action_index AS action FROM actions WHERE block_index >=
       (SELECT MIN(block_index) FROM blocks WHERE block_time >= ?) ORDER BY block_index, action_index LIMIT 1`,
    [Math.max(0, time - DAY_S)]
  );
  return { action: first ? Number(first.action) : null };
}
