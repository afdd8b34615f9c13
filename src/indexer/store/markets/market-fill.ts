import { rows, type Statements } from '../../../db/connection.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { type Market, marketKey } from './market-refreshes.ts';
import { type MarketOrder, readMarketOrders, readMarkets, writeMarketRows, writeOpenOrders } from './market-rows.ts';
import { noteRefreshes } from './markets.ts';

const ORDERS_AT_ONCE = 2_000;

/** Makes the markets of a ledger that an earlier release wrote without any, in a transaction of its own. */
export async function fillMarkets(connection: Statements): Promise<void> {
  const some = await rows(connection, 'SELECT 1 FROM markets LIMIT 1');
  if (some.length > 0) return;
  await connection.query('START TRANSACTION');
  await rebuildMarkets(connection);
  await connection.query('COMMIT');
}

/**
 * Makes all markets anew from the ledger. None counts as refreshed, so each of the next blocks refreshes 25 of them.
 */
export async function rebuildMarkets(connection: Statements): Promise<void> {
  for (const table of ['markets', 'open_orders', 'market_undo']) await connection.query(`DELETE FROM ${table}`);
  let newest = 0;
  for (let after = 0; ; ) {
    const found = await rows<{ order: number }>(
      connection,
      `SELECT action_index AS \`order\` FROM orders WHERE action_index > ? AND status_id = ${VALID_STATUS}
       ORDER BY action_index LIMIT ${ORDERS_AT_ONCE}`,
      [after]
    );
    if (found.length === 0) return;
    after = Number(found.at(-1)!.order);
    const orders = await readMarketOrders(
      connection,
      found.map(({ order }) => Number(order))
    );
    const known = await readMarkets(connection, orders);
    const keys = new Set(known.map(marketKey));
    const made: (Market & { readonly first: MarketOrder })[] = [];
    for (const [key, [first]] of Map.groupBy(orders, marketKey))
      if (!keys.has(key)) made.push({ ...first!, first: first!, id: ++newest, updated: 0 });
    await writeMarketRows(connection, made);
    await noteMade(connection, made);
    await writeOpenOrders(connection, orders, [...known, ...made]);
  }
}

/** Notes the block of the first order of each market, so that a rollback of that block deletes the market's row. */
async function noteMade(
  connection: Statements,
  made: readonly { readonly id: number; readonly first: MarketOrder }[]
): Promise<void> {
  if (made.length === 0) return;
  const found = await rows<{ action: number; height: number }>(
    connection,
    'SELECT action_index AS action, block_index AS height FROM actions WHERE action_index IN (?)',
    [made.map(({ first }) => first.index)]
  );
  const heights = new Map(found.map(({ action, height }) => [Number(action), Number(height)]));
  await noteRefreshes(
    connection,
    made.map(({ id, first }) => ({ height: heights.get(first.index)!, id, before: null }))
  );
}
