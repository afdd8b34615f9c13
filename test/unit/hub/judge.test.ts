import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeRound, timelyPrices, widestOf } from '../../../src/hub/oracle/judge.ts';
import { readPrice } from '../../../src/hub/oracle/price.ts';
import { readSourceTime, referenceTime } from '../../../src/hub/oracle/source-times.ts';
import type { SourceAnswer } from '../../../src/hub/oracle/sources.ts';

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const priceOf = (text: string) => readPrice(text)!;

/** A source that says what a bitcoin costs in dollars. */
const answer = (source: SourceAnswer['source'], price: string, at: number | null, servedAt = NOW): SourceAnswer => ({
  ...{ source, servedAt },
  said: new Map([['BTC/USD', { price: priceOf(price), at }]])
});
const bitcoin = (
  prices: readonly string[],
  last: string | null = null,
  rules: { configured?: number; minSources?: number } = {}
) => {
  const judged = judgeRound(
    new Map([['BTC/USD', prices.map(priceOf)]]),
    new Map([['BTC/USD', last === null ? null : priceOf(last)]]),
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
  assert.deepEqual(byPair.get('BTC/USD'), [priceOf('64000')]);
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
    ...{ pair: 'BTC/USD', price: '103.00000000', sources: 3, deviation: '2.9126' }
  });
  assert.deepEqual(widestOf(new Map([['BTC/USD', ['100', '103', '104'].map(priceOf)]])), {
    ...{ pair: 'BTC/USD', percent: 2.9126 }
  });
  assert.deepEqual(bitcoin([]), { pair: 'BTC/USD', price: '0', status: 'skipped', sources: 0, deviation: null });
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
  const dogecoin = judgeRound(new Map([['DOGE/USD', [priceOf('9999999999')]]]), new Map(), {
    ...{ configured: 1, minSources: 1 }
  });
  assert.equal(dogecoin.find(({ pair }) => pair === 'DOGE/USD')?.status, 'skipped');
});
