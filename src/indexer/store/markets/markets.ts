import { rows, type Statements } from '../../../db/connection.ts';
import { chunks, write } from '../../../db/statement-batch.ts';
import type { ExecutedBlock } from '../../block/block.ts';
import { tupleOf } from '../row-encoder.ts';
import { insert } from '../row-writer.ts';
import { DAY_S } from './market-figures.ts';
import { type Refresh, refreshesOf, STALE_PER_BLOCK, type TouchingBlock } from './market-refreshes.ts';
import {
  type MarketOrder,
  readMarketOrders,
  readMarkets,
  readStaleMarkets,
  writeMarketRows,
  writeOpenOrders
} from './market-rows.ts';

/** Blocks below the newest one whose refreshes are noted. A deeper rollback makes all markets anew. */
export const NOTED_REFRESHES = 1_000;

/**
 * Refreshes the markets of blocks whose other rows are written.
 *
 * A row follows from the ledger and the time of its last refresh alone. A market that no later block touches is the
 * same after all blocks are written, so each is read once, however many blocks there are.
 */
export async function writeMarkets(to: Statements, executed: readonly ExecutedBlock[]): Promise<void> {
  const named = await ordersNamed(to, executed);
  const orders = new Map(
    (await readMarketOrders(to, [...named.values()].flat())).map((order) => [order.index, order] as const)
  );
  const blocks = executed.map(({ block: { height, time } }): TouchingBlock => {
    const own = [...new Set(named.get(height))].sort((a, b) => a - b);
    return {
      height,
      time,
      pairs: own.flatMap((index): MarketOrder[] => (orders.has(index) ? [orders.get(index)!] : []))
    };
  });
  const touched = blocks.flatMap(({ pairs }) => pairs);
  const latest = Math.max(...blocks.map(({ time }) => time));
  const most = STALE_PER_BLOCK * blocks.length + touched.length;
  const [known, stale, [last]] = await Promise.all([
    readMarkets(to, touched),
    readStaleMarkets(to, latest - DAY_S, most),
    rows<{ id: number }>(to, 'SELECT COALESCE(MAX(id), 0) AS id FROM markets')
  ]);
  if (touched.length === 0 && stale.length === 0) return;
  const { markets, refreshes } = refreshesOf(blocks, [...known, ...stale], Number(last!.id));
  await writeOpenOrders(to, [...orders.values()], markets);
  await writeMarketRows(to, markets);
  await noteRefreshes(to, refreshes);
  await write(to, `DELETE FROM market_undo WHERE block_index < ${blocks.at(-1)!.height - NOTED_REFRESHES}`);
}

/** Notes refreshes with the times of those before them, which a rollback restores. */
export async function noteRefreshes(to: Statements, refreshes: readonly Refresh[]): Promise<void> {
  const tuples = refreshes.map(({ height, id, before }) => tupleOf([height, id, before]));
  await insert(to, 'market_undo', ['block_index', 'market_id', 'last_updated'], tuples);
}

/** Returns by height the orders that blocks made, ended or matched, and those whose matches they ended. */
async function ordersNamed(from: Statements, executed: readonly ExecutedBlock[]): Promise<Map<number, number[]>> {
  const named = new Map<number, number[]>();
  const ended: { readonly height: number; readonly match: number }[] = [];
  for (const { block, rows: made, rowChanges } of executed) {
    const own: number[] = [];
    for (const { table, columns } of made) {
      if (table === 'order_statuses') own.push(Number(columns['order_action_index']));
      else if (table === 'order_matches') own.push(Number(columns['get_action_index']));
    }
    named.set(block.height, own);
    for (const { table, actionIndex } of rowChanges)
      if (table === 'order_matches') ended.push({ height: block.height, match: actionIndex });
  }
  const takers = new Map<number, number>();
  for (const slice of chunks(ended, ({ match }) => String(match))) {
    const found = await rows<{ match: number; taker: number }>(
      from,
      'SELECT action_index AS `match`, get_action_index AS taker FROM order_matches WHERE action_index IN (?)',
      [slice.map(({ match }) => match)]
    );
    for (const { match, taker } of found) takers.set(Number(match), Number(taker));
  }
  for (const { height, match } of ended) named.get(height)!.push(takers.get(match)!);
  return named;
}
