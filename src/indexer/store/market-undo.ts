import { type Connection, rows } from '../../db/core/connection.ts';
import { rebuildMarkets } from './market-fill.ts';
import { readMarketOrders, readMarkets, readMarketsById, writeMarketRows, writeOpenOrders } from './market-rows.ts';
import { NOTED_REFRESHES } from './markets.ts';

type Query = Pick<Connection, 'query'>;

/** What a rollback needs to know of markets before it takes rows back. */
export interface MarketUndo {
  /** Older orders whose statuses go. */
  readonly orders: readonly number[];
  /** The first action that goes; null: none does. */
  readonly action: number | null;
  /** Whether more blocks go than are noted. */
  readonly isDeep: boolean;
}

/** Reads what is to be undone from a height on, before its rows are deleted. @param action  the first one that goes */
export async function readMarketUndo(connection: Query, height: number, action: number | null): Promise<MarketUndo> {
  const [newest] = await rows<{ height: number | null }>(
    connection,
    'SELECT MAX(block_index) AS height FROM chain_blocks'
  );
  const isDeep = Number(newest?.height ?? 0) - NOTED_REFRESHES > height;
  if (action === null) return { orders: [], action, isDeep };
  const found = await rows<{ order: number }>(
    connection,
    'SELECT DISTINCT order_action_index AS `order` FROM order_statuses WHERE action_index >= ? AND order_action_index < ?',
    [action, action]
  );
  return { orders: found.map(({ order }) => Number(order)), action, isDeep };
}

/** Makes the rows of markets what they were below a height, after all other rows were taken back. */
export async function undoMarkets(connection: Query, height: number, undo: MarketUndo): Promise<void> {
  if (undo.isDeep) {
    await rebuildMarkets(connection);
    return;
  }
  if (undo.action !== null)
    await connection.query('DELETE FROM open_orders WHERE order_action_index >= ?', [undo.action]);
  const orders = await readMarketOrders(connection, undo.orders);
  await writeOpenOrders(connection, orders, await readMarkets(connection, orders));
  const found = await rows<{ id: number; before: number | null }>(
    connection,
    `SELECT u.market_id AS id, u.last_updated AS \`before\` FROM market_undo u JOIN
       (SELECT market_id, MIN(block_index) AS height FROM market_undo WHERE block_index >= ? GROUP BY market_id) f
       ON f.market_id = u.market_id AND f.height = u.block_index`,
    [height]
  );
  const made = found.filter(({ before }) => before === null).map(({ id }) => Number(id));
  if (made.length > 0) await connection.query('DELETE FROM markets WHERE id IN (?)', [made]);
  const before = new Map(found.flatMap(({ id, before }) => (before === null ? [] : [[Number(id), Number(before)]])));
  const markets = await readMarketsById(connection, [...before.keys()]);
  await writeMarketRows(
    connection,
    markets.map((market) => ({ ...market, updated: before.get(market.id)! }))
  );
  await connection.query('DELETE FROM market_undo WHERE block_index >= ?', [height]);
}
