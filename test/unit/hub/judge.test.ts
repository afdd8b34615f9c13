import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeRound, timelyPrices, widestOf } from '../../../src/hub/oracle/judge.ts';
import { readPrice } from '../../../src/hub/oracle/price.ts';
import { LastChanges, readSourceTime, referenceTime } from '../../../src/hub/oracle/source-times.ts';
import type { SourceAnswer } from '../../../src/hub/oracle/sources.ts';

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const priceOf = (text: string) => readPrice(text)!;

/** A source that says what a bitcoin costs in dollars. */
const answer = (source: SourceAnswer['source'], price: string, at: number | null, servedAt = NOW): SourceAnswer => ({
  source,
  servedAt,
  madeAt: servedAt,
  prices: new Map([['BTC/USD', { price: priceOf(price), at }]])
});
const found = (prices: readonly string[], at = NOW) => prices.map((price) => ({ price: priceOf(price), at }));
const bitcoin = (
  prices: readonly string[],
  last: string | null = null,
  rules: { configured?: number; minSources?: number } = {},
  { carried = last, now = NOW } = {}
) => {
  const judged = judgeRound(
    { byPair: new Map([['BTC/USD', found(prices)]]), now },
    new Map(
      last === null
        ? []
        : [['BTC/USD', { last: priceOf(last), carried: priceOf(carried ?? last), carriedAt: NOW / 1_000 }]]
    ),
    { configured: prices.length, minSources: 1, ...rules }
  );
  assert.equal(judged.length, 36);
  return judged.find(({ pair }) => pair === 'BTC/USD')!;
};

test('a source that stands still counts nothing, and is named', () => {
  const frozen = Date.UTC(2020, 0, 1);
  const { byPair, faults } = timelyPrices(
    [answer('coingecko', '7200', frozen), answer('kraken', '64000', NOW - 60_000)],
    NOW
  );
  assert.deepEqual(byPair.get('BTC/USD'), found(['64000'], NOW - 60_000));
  assert.deepEqual(faults, ['coingecko told prices of 2020-01-01T00:00:00.000Z']);
  const alone = timelyPrices([answer('kraken', '7200', frozen, frozen)], NOW);
  assert.equal(alone.byPair.size, 0, 'a copy with its old Date header');
});

test('a clock of this machine that is an hour off stops no prices, and one source with a false time decides nothing', () => {
  const answers = [answer('coingecko', '64000', NOW), answer('kraken', '64100', NOW - 60_000)];
  for (const clock of [NOW - HOUR, NOW + HOUR, NOW]) assert.equal(timelyPrices(answers, clock).faults.length, 0);
  assert.equal(timelyPrices(answers.slice(0, 1), NOW - HOUR).faults.length, 0, 'one source, and a clock set back');
  const liar = answer('coinmarketcap', '1', NOW + 9 * HOUR, NOW + 9 * HOUR);
  assert.deepEqual(
    timelyPrices([...answers, liar], NOW).faults.map((fault) => fault.split(' ')[0]),
    ['coinmarketcap']
  );
  assert.equal(referenceTime(5, []), 5);
  assert.deepEqual(
    [
      readSourceTime(1_700_000_000),
      readSourceTime('2026-01-01T00:00:00.000Z'),
      readSourceTime('x'),
      readSourceTime(null)
    ],
    [1_700_000_000_000, NOW, null, null]
  );
});

test('each price says on how many sources it rests and how far they are apart', () => {
  assert.deepEqual(bitcoin(['100', '103', '104']), {
    pair: 'BTC/USD',
    price: '103.00000000',
    sources: 3,
    deviation: '2.9126',
    bounded: false,
    oldestAt: NOW / 1_000
  });
  assert.deepEqual(widestOf(new Map([['BTC/USD', found(['100', '103', '104'])]])), {
    pair: 'BTC/USD',
    percent: 2.9126
  });
  const skipped = { price: '0', status: 'skipped', sources: 0, deviation: null, bounded: false, oldestAt: null };
  assert.deepEqual(bitcoin([]), { pair: 'BTC/USD', ...skipped });
});

test('with fewer sources than ORACLE_MIN_SOURCES there is no price; one of several alone moves it by a twentieth', () => {
  assert.equal(bitcoin(['100'], '100', { configured: 3, minSources: 2 }).status, 'skipped');
  assert.equal(bitcoin(['1000'], '100', { configured: 3 }).price, '105.00000000');
  assert.equal(bitcoin(['1000'], '100').price, '125.00000000', 'the only one that the operator names');
  assert.equal(bitcoin(['1000', '1000'], '100', { configured: 3 }).price, '125.00000000');
});

test('a first price is within the bounds of its coin', () => {
  assert.equal(bitcoin(['0.00000001']).status, 'skipped');
  assert.equal(bitcoin(['0.9']).status, 'skipped');
  assert.equal(bitcoin(['64000']).price, '64000.00000000');
  const dogecoin = judgeRound({ byPair: new Map([['DOGE/USD', found(['9999999999'])]]), now: NOW }, new Map(), {
    configured: 1,
    minSources: 1
  });
  assert.equal(dogecoin.find(({ pair }) => pair === 'DOGE/USD')?.status, 'skipped');
});

test('a price that was bounded says so, and deviates from what its sources said', () => {
  assert.deepEqual(
    ['130', '110']
      .map((price) => bitcoin([price, price], '100'))
      .map(({ price, bounded, deviation }) => [price, bounded, deviation]),
    [
      ['125.00000000', true, '4.0000'],
      ['110.00000000', false, '0.0000']
    ]
  );
});

test('one of several sources alone moves a price by a twentieth in a day, however many rounds there are', () => {
  let last = '50000';
  for (let round = 0; round < 100; round++)
    last = bitcoin(['90000'], last, { configured: 2 }, { carried: '50000' }).price;
  assert.equal(last, '52500.00000000');
  const later = bitcoin(['90000'], last, { configured: 2 }, { carried: '50000', now: NOW + 25 * HOUR });
  assert.deepEqual([later.price, later.bounded], ['55000.00000000', true]);
  const honest = bitcoin(['50000', '50000'], last, { configured: 2 }, { carried: '50000' });
  assert.deepEqual([honest.price, honest.bounded], ['50000.00000000', false], 'two undo it at once');
});

test('prices without a time of their own are as old as they are unchanged', () => {
  const changes = new LastChanges();
  const kraken = (price: string, now: number) => timelyPrices([answer('kraken', price, null, now)], now, changes);
  assert.equal(kraken('64000', NOW).faults.length, 0);
  const half = kraken('64000', NOW + HOUR / 2);
  assert.deepEqual(half.byPair.get('BTC/USD'), found(['64000']), 'their age is told');
  assert.equal(kraken('64000', NOW + HOUR).byPair.size, 0, 'a ticker that stands still behind a server that lives');
  assert.equal(kraken('64001', NOW + HOUR).faults.length, 0);
});

test('neither of two clocks that are far apart is believed', () => {
  for (const off of [1_000_000_000, -1_000_000_000]) {
    const { byPair, faults } = timelyPrices([answer('kraken', '64000', null, NOW + off)], NOW);
    assert.deepEqual([byPair.size, faults.length], [0, 1]);
  }
  assert.equal(referenceTime(NOW, [NOW + HOUR]), NOW + HOUR / 2);
  assert.equal(referenceTime(NOW, [NOW + HOUR, NOW + HOUR]), NOW + HOUR);
});
