import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIATS } from '../../../src/hub/oracle/pairs.ts';
import { boundTo, formatPrice, medianPrice, readPrice } from '../../../src/hub/oracle/price.ts';
import { PRICE_SOURCES } from '../../../src/hub/oracle/sources.ts';
import fc from '../../support/fast-check.ts';

const priceOf = (text: string) => readPrice(text)!;

test('a price has 8 places: halves are rounded up; what is no price above 0 and at most 10^10 is none', () => {
  const samples = [64_123.5, 1e-8, 4e-9, 5e-9, '0.000000005', '64123.123456785', '9999999999.99999999', 10_000_000_000];
  assert.deepEqual(
    samples.map((each) => readPrice(each)).map((price) => (price === null ? null : formatPrice(price))),
    [
      '64123.50000000',
      '0.00000001',
      null,
      '0.00000001',
      '0.00000001',
      '64123.12345679',
      '9999999999.99999999',
      '10000000000.00000000'
    ]
  );
  const odd = [0, -1, NaN, Infinity, 1e21, '10000000000.00000001', '1e3', '-1', '', ' 1', '1,000', null, {}, [], true];
  assert.deepEqual(new Set(odd.map(readPrice)), new Set([null]));
});

test('property: a decimal of 8 places is read and written as it is', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 18n }), (price) => {
      assert.equal(readPrice(formatPrice(price)), price);
    })
  );
});

test('the median: of three the middle, of two their mean, none where two are more than 5 % away from it', () => {
  const median = (...texts: string[]) => medianPrice(texts.map(priceOf));
  assert.equal(median('3', '1', '100'), priceOf('3'));
  assert.equal(median('95', '105'), priceOf('100'));
  assert.equal(median('94.99', '105.01'), null);
  assert.equal(median('1', '99', '101', '5000'), priceOf('100'));
  assert.equal(median(), null);
  assert.equal(median('7'), priceOf('7'));
});

test('property: one liar of three or more moves the price no further than to an honest one', () => {
  const price = fc.bigInt({ min: 1n, max: 10n ** 18n });
  fc.assert(
    fc.property(price, price, price, (first, second, lie) => {
      const [low, high] = first < second ? [first, second] : [second, first];
      const found = medianPrice([first, lie, second])!;
      assert.ok(found >= low && found <= high);
    })
  );
});

test('a price is at most 25 % above or below the last one', () => {
  const last = priceOf('100');
  for (const [value, kept] of [
    ['125', '125'],
    ['125.00000001', '125'],
    ['1', '75'],
    ['80', '80']
  ] as const)
    assert.equal(boundTo(priceOf(value), last, 25), priceOf(kept));
  assert.equal(boundTo(priceOf('0.1'), last, 500), priceOf('0.1'), 'nothing is below 0');
});

test('each source is read as its service answers; what is odd in an answer is left out', () => {
  const texts = (quotes: ReadonlyMap<string, { readonly price: bigint }>) =>
    [...quotes].map(([pair, { price }]) => [pair, formatPrice(price)]);
  const { coingecko, kraken, coinmarketcap } = PRICE_SOURCES;
  assert.deepEqual(
    texts(
      coingecko.read({ bitcoin: { usd: 64_000.25, eur: null }, litecoin: 'x', dogecoin: { krw: 1.5e2 }, __proto__: 1 })
    ),
    [
      ['BTC/USD', '64000.25000000'],
      ['DOGE/KRW', '150.00000000']
    ]
  );
  const tickers = {
    XXBTZUSD: { c: ['64001.1', '0.1'] },
    XLTCZEUR: { c: ['80.5'] },
    XDGUSD: { c: ['0.12'] },
    XBTUSDT: { c: ['9'] }
  };
  assert.deepEqual(
    texts(kraken.read({ error: [], result: { ...tickers, XETHZUSD: { c: ['3'] }, XBTCHF: { c: 7 } } })),
    [
      ['BTC/USD', '64001.10000000'],
      ['LTC/EUR', '80.50000000'],
      ['DOGE/USD', '0.12000000']
    ]
  );
  const quote = { USD: { price: 64_002 }, XYZ: { price: 1 } };
  assert.deepEqual(
    texts(coinmarketcap.read({ data: { BTC: [{ quote }, { quote: { USD: { price: 1 } } }], LTC: [] } })),
    [['BTC/USD', '64002.00000000']]
  );
  for (const source of Object.values(PRICE_SOURCES))
    for (const odd of [null, 7, 'text', [], { data: null, result: [] }]) assert.equal(source.read(odd).size, 0);
  assert.equal(FIATS.length, 12);
});
