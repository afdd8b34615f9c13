import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeFor } from '../../../src/service/stream/place-for.ts';

const placed = ['a', 'a', 'b', 'a', 'b'].map((address, id) => ({ address, id }));

test('while all places are taken, the newest of the address that has the most gives way to one that has fewer', () => {
  assert.equal(placeFor(placed, 'c', 6), 'free');
  assert.deepEqual(placeFor(placed, 'c', 5), { address: 'a', id: 3 });
  assert.equal(placeFor(placed, 'b', 5), null, 'it would have as many');
  assert.equal(placeFor(placed, 'a', 5), null);
  const ones = ['a', 'b', 'c'].map((address) => ({ address }));
  assert.equal(placeFor(ones, 'd', 3), null);
});
