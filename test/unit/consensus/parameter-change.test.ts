import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount } from '../../../src/consensus/amount.ts';
import { findChangeFault } from '../../../src/consensus/parameter-change.ts';
import fc from '../../support/fast-check.ts';

const SLASHING = 'SLASH_DEVIATION_THRESHOLD';

test('bounds are inclusive: +50 % and -33 %, of slashing parameters +25 % and -20 %', () => {
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

test('texts have no bounds; half of 0 more is 0', () => {
  assert.equal(findChangeFault('FEE', '0', '0'), null);
  for (const to of ['1000', '0.000000000000000001']) assert.match(findChangeFault('FEE', '0', to)!, /from 0 by \+50 %/);
  assert.equal(findChangeFault('MODE', 'strict', 'lenient'), null);
});

test('no form of a number goes around the bounds, nor does the case of the name', () => {
  for (const [from, to] of [
    ['1e3', '9'],
    ['100', '1e9'],
    ['-1', '9'],
    ['0x10', '9'],
    ['+100', '900'],
    [' 100', '900'],
    ['100', '900 '],
    ['.5', '9'],
    ['100', '1,000'],
    ['Infinity', '9']
  ])
    assert.match(
      findChangeFault('FEE', from!, to!) ?? '',
      /FEE is a number: write .* as a plain decimal/,
      `${from} ${to}`
    );
  assert.match(findChangeFault('FEE', 'abc', '1')!, /FEE is no number, and stays so: not 1/);
  assert.match(findChangeFault('FEE', '1', 'abc')!, /FEE is a number, and stays so: not abc/);
  for (const name of [SLASHING.toLowerCase(), 'Slash_Deviation_Threshold'])
    assert.match(findChangeFault(name, '100', '150')!, /by \+25 % or -20 % at most/);
});

test('a slashing parameter may never change by more than another', () => {
  const amount = fc.bigInt({ min: 1n, max: 10n ** 30n }).map(formatAmount);
  fc.assert(
    fc.property(amount, amount, (from, to) => {
      if (findChangeFault(SLASHING, from, to) === null) assert.equal(findChangeFault('FEE', from, to), null);
    })
  );
});
