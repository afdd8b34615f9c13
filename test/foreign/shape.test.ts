import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultsOf } from '../support/shape.ts';

const FIELDS = 'tick:text! amount:decimal legs:list legs[].vout:int info.id:digits|hash names:list:text';
const GOOD = { tick: 'A', amount: null, legs: [{ vout: 0 }], info: { id: '7' }, names: ['x'] };

test('a value that has its fields has no faults; each other one is named', () => {
  assert.deepEqual(faultsOf(GOOD, FIELDS), []);
  assert.deepEqual(faultsOf({ ...GOOD, more: 1, info: null, legs: null }, FIELDS), []);
  for (const [changed, fault] of [
    [{ tick: null }, /tick is null/],
    [{ amount: 1 }, /amount is 1/],
    [{ amount: '1e3' }, /amount/],
    [{ legs: [{ vout: '0' }] }, /legs: vout is "0"/],
    [{ legs: {} }, /legs/],
    [{ info: { id: 'x' } }, /info: id/],
    [{ info: {} }, /info: id is undefined/],
    [{ names: [1] }, /names/]
  ] as const)
    assert.match(faultsOf({ ...GOOD, ...changed }, FIELDS).join(), fault);
});
