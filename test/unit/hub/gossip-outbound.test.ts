import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outboundOf } from '../../../src/hub/federation/gossip/outbound.ts';

const LIMITS = { fullMesh: 32, outbound: 16 };
const keysOf = (count: number) => Array.from({ length: count }, (_, place) => `key ${place}`);

test('up to 32 members dial all others, and a larger set 16 each', () => {
  assert.equal(outboundOf('key 0', keysOf(32), LIMITS).size, 31);
  assert.equal(outboundOf('key 0', keysOf(33), LIMITS).size, 16);
  assert.equal(outboundOf('key 0', keysOf(33), LIMITS).has('key 0'), false);
});

test('a member that leaves changes one choice of those who dialled it, and none of others', () => {
  const keys = keysOf(60);
  const left = keys.filter((key) => key !== 'key 7');
  for (const own of left) {
    const [before, now] = [outboundOf(own, keys, LIMITS), outboundOf(own, left, LIMITS)];
    const kept = [...now].filter((key) => before.has(key)).length;
    assert.equal(kept, before.has('key 7') ? 15 : 16, own);
  }
});

test('in a set of a hundred each is reached from each over the others', () => {
  const keys = keysOf(100);
  const links = new Map(keys.map((key) => [key, new Set<string>()]));
  for (const key of keys)
    for (const other of outboundOf(key, keys, LIMITS)) {
      links.get(key)!.add(other);
      links.get(other)!.add(key);
    }
  const reached = new Set(['key 0']);
  for (const key of reached) for (const other of links.get(key)!) reached.add(other);
  assert.equal(reached.size, 100);
});
