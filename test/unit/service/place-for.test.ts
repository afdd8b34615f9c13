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

test('a network of IPv6 gives way as a whole, also where each of its addresses has one place', () => {
  const network = Array.from({ length: 3 }, (_, n) => ({ address: `2001:db8:7:${n}::/64`, n }));
  assert.equal(placeFor(network, '198.51.100.1', 3), network[2]);
  assert.equal(placeFor(network, '2001:db8:7:9::/64', 3), null, 'one more of it');
  const provider = Array.from({ length: 3 }, (_, n) => ({ address: `2001:db8:${n}:0::/64`, n }));
  assert.equal(placeFor(provider, '198.51.100.1', 3), provider[2]);
});
