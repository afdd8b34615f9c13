import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBaseUnits, toDecimal } from '../../../src/coin/amount.ts';
import { parseExactJson } from '../../../src/coin/node/exact-json.ts';
import fc from '../../support/fast-check.ts';

test('amounts come back as they went, for every number of base units', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n }), (amount) => {
      assert.equal(toBaseUnits(toDecimal(amount)), amount);
    })
  );
});

test('amounts are read in every spelling of a JSON number', () => {
  assert.equal(toBaseUnits('0.29000000'), 29_000_000n);
  assert.equal(toBaseUnits('1e-08'), 1n);
  assert.equal(toBaseUnits('1.5E3'), 150_000_000_000n);
  assert.equal(toBaseUnits(50), 5_000_000_000n);
  assert.equal(toBaseUnits('0.1230000000000'), 12_300_000n);
});

test('a text that is no amount is refused', () => {
  for (const text of ['', '-1', '1.', '.5', '0x10', 'NaN', '1e999', '0.000000001', '1 ', '1,5']) {
    assert.throws(() => toBaseUnits(text), RangeError, text);
  }
});

test('JSON numbers keep every digit', () => {
  assert.deepEqual(parseExactJson('{"value":0.10000000,"big":12345678901234567890,"n":7,"list":[1e-05,-3]}'), {
    value: '0.10000000',
    big: '12345678901234567890',
    n: 7,
    list: ['1e-05', -3]
  });
});
