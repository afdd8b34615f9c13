import { rows, type Statements } from '../../../db/connection.ts';
import { pages } from '../../../db/pages.ts';
import { rebuildMarkets } from './market-fill.ts';
import { readMarketOrders, readMarkets, readMarketsById, writeMarketRows, writeOpenOrders } from './market-rows.ts';
import { NOTED_REFRESHES } from './markets.ts';

/** Facts about markets that a rollback reads before it deletes rows. */
interface MarketUndo {
  /** Older orders that lose statuses. */
  readonly orders: readonly number[];
  /** First action that is deleted; null if none is. */
  readonly action: number | null;
  /** Whether more blocks are deleted than have notes. */
  readonly isDeep: boolean;
}

/**
 * Reads what to undo from a height on. Call it before rows are deleted. @param action the first action that is deleted
 */
export async function readMarketUndo(
  connection: Statements,
  height: number,
  action: number | null
): Promise<MarketUndo> {
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

/** Restores the rows of markets as they were below a height. Call it after all other rows were rolled back. */
export async function undoMarkets(connection: Statements, height: number, undo: MarketUndo): Promise<void> {
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
  for (const part of pages(made)) await connection.query('DELETE FROM markets WHERE id IN (?)', [part]);
  const before = new Map(found.flatMap(({ id, before }) => (before === null ? [] : [[Number(id), Number(before)]])));
  for (const part of pages([...before.keys()])) {
    const markets = await readMarketsById(connection, part);
    await writeMarketRows(
      connection,
      markets.map((market) => ({ ...market, updated: before.get(market.id)! }))
    );
  }
  await connection.query('DELETE FROM market_undo WHERE block_index >= ?', [height]);
}
