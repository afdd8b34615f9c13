import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmount } from '../../../src/consensus/amount.ts';
import { figuresOf, formatPrice, priceOf } from '../../../src/indexer/store/markets/market-figures.ts';
import { type Market, refreshesOf } from '../../../src/indexer/store/markets/market-refreshes.ts';

const trade = (amount1: string, amount2: string) => ({
  amount1: parseAmount(amount1)!,
  amount2: parseAmount(amount2)!
});

test('a price has eight places, rounded half up, however large or small the amounts are', () => {
  const price = (amount: string, divisor: string) => formatPrice(priceOf(parseAmount(amount)!, parseAmount(divisor)!));
  assert.equal(price('2', '3'), '0.66666667');
  assert.equal(price('0.000000005', '1'), '0.00000001');
  assert.equal(price('0.0000000049', '1'), '0');
  assert.equal(price('1', '0'), '0');
  assert.equal(price('9'.repeat(40), '0.000000000000000001'), `${'9'.repeat(40)}${'0'.repeat(18)}`);
});

test('figures of no match are 0; a fall is a negative percent, rounded as a rise is', () => {
  assert.deepEqual(new Set(Object.values(figuresOf({ last: null, dayAgo: null, day: [] }))), new Set(['0']));
  const fallen = figuresOf({
    last: trade('1', '2'),
    dayAgo: trade('1', '3'),
    day: [trade('1', '2'), trade('0.5', '2')]
  });
  assert.equal(fallen['tick1_24hr_change'], '-33.33');
  assert.equal(fallen['tick2_24hr_change'], '50');
  assert.deepEqual([fallen['tick1_24hr_high'], fallen['tick1_24hr_low']], ['4', '2']);
  assert.deepEqual([fallen['tick1_24hr_volume'], fallen['tick2_24hr_volume']], ['1.5', '4']);
});

test('a block refreshes a pair once, touched ones before old ones; one that it makes has the next id', () => {
  const known: Market[] = [1, 2].map((id) => ({ id, tick1: id, tick2: 9, coin: 1, updated: id * 10 }));
  const made = { tick1: 4, tick2: 5, coin: 1 };
  const time = 86_400 + 15;
  const blocks = [
    { height: 7, time, pairs: [{ tick1: 9, tick2: 2, coin: 1 }, made, { ...made, tick1: 5, tick2: 4 }] },
    { height: 8, time: time + 1, pairs: [] }
  ];
  const { markets, refreshes } = refreshesOf(blocks, known, 2);
  assert.deepEqual(refreshes, [
    { height: 7, id: 2, before: 20 },
    { height: 7, id: 3, before: null },
    { height: 7, id: 1, before: 10 }
  ]);
  assert.deepEqual(
    markets.map(({ id, tick1, updated }) => [id, tick1, updated]),
    [
      [2, 2, time],
      [3, 4, time],
      [1, 1, time]
    ]
  );
});
