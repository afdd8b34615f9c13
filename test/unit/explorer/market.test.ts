import assert from 'node:assert/strict';
import { test } from 'node:test';
import { marketOrders, orderbook } from '../../../src/explorer/records/market.ts';
import type { RecordRead } from '../../../src/explorer/records/record.ts';

/** Orders of a pair that are looked at. */
const LOOKED_AT = 20_000;

/** A question about a pair that has so many orders, of which none that is looked at is open. */
function askedOf(orders: number): RecordRead {
  const query = async (statement: string) => {
    if (statement.startsWith('SELECT COUNT(*)')) return [{ count: Math.min(orders, LOOKED_AT + 1) }];
    return statement.startsWith('SELECT id FROM index_tickers') ? [{ id: 1 }] : [];
  };
  const question = { parameters: { tick1: '^1', tick2: '^2' }, page: 1, limit: 10, order: 'desc' };
  return { query, question, names: {}, databases: {} } as unknown as RecordRead;
}

test('an order book tells that older orders are missing, which many new ones that ended would hide', async () => {
  const book = { market: '^1/^2', bids: [], asks: [] };
  assert.deepEqual(await orderbook.read(askedOf(LOOKED_AT)), { ...book, is_cut: false });
  assert.deepEqual(await orderbook.read(askedOf(LOOKED_AT + 1)), { ...book, is_cut: true });
  assert.deepEqual(await marketOrders.read(askedOf(LOOKED_AT)), { data: [], total: 0 });
  assert.deepEqual(await marketOrders.read(askedOf(LOOKED_AT + 1)), { data: [], total: null });
});
