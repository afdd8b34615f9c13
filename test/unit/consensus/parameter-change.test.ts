import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount } from '../../../src/consensus/amount.ts';
import { findChangeFault } from '../../../src/consensus/parameter-change.ts';
import fc from '../../support/fast-check.ts';

const SLASHING = 'SLASH_DEVIATION_THRESHOLD';

test('LI-24, LI-25: bounds are inclusive: +50 % and -33 %, of slashing parameters +25 % and -20 %', () => {
  const allowed = (parameter: string, from: string, to: string) => findChangeFault(parameter, from, to) === null;
  assert.deepEqual(
    ['150', '150.000000000000000001', '67', '66.999999999999999999'].map((to) => allowed('FEE', '100', to)),
    [true, false, true, false]
  );
  assert.deepEqual(
    ['125', '125.1', '80', '79.9'].map((to) => allowed(SLASHING, '100', to)),
    [true, false, true, false]
  );
  assert.match(findChangeFault('FEE', '100', '151')!, /FEE may change from 100 by \+50 % or -33 % at most, not to 151/);
});

test('values that are no plain decimals, and a current value of 0, have no bounds', () => {
  for (const [from, to] of [
    ['0', '1000'],
    ['abc', '1'],
    ['1', 'abc'],
    ['1e3', '9'],
    ['-1', '9']
  ])
    assert.equal(findChangeFault('FEE', from!, to!), null);
});

test('a slashing parameter may never change by more than another', () => {
  const amount = fc.bigInt({ min: 1n, max: 10n ** 30n }).map(formatAmount);
  fc.assert(
    fc.property(amount, amount, (from, to) => {
      if (findChangeFault(SLASHING, from, to) === null) assert.equal(findChangeFault('FEE', from, to), null);
    })
  );
});
