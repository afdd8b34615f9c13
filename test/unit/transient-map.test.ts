import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { TransientMap } from '../../src/transient-map.ts';

async function growthMb(kind: 'Map' | 'TransientMap'): Promise<number> {
  const worker = new Worker(new URL('../support/map-growth.ts', import.meta.url), { workerData: kind });
  const [mb] = await once(worker, 'message');
  return mb as number;
}

test('an entry that has left the map is collected with the young generation, where a Map keeps it', async (t) => {
  const ownMb = await growthMb('TransientMap');
  assert.ok(ownMb < 6, `the old generation grew by ${ownMb.toFixed(1)} MB`);
  const kept = await growthMb('Map');
  t.diagnostic(`the old generation grew by ${kept.toFixed(1)} MB with a Map, by ${ownMb.toFixed(1)} MB with this one`);
  assert.ok(
    kept > 2 * ownMb,
    `a Map keeps ${kept.toFixed(1)} MB, this one ${ownMb.toFixed(1)} MB: is it still needed?`
  );
});

test('entries stay, in their order, while thousands come and go', () => {
  const map = new TransientMap<number, string>();
  map.set(-1, 'first');
  for (let key = 0; key < 10_000; key++) {
    map.set(key, `${key}`);
    assert.equal(map.get(key), `${key}`);
    if (key >= 3) assert.equal(map.delete(key - 3), true);
  }
  assert.deepEqual(
    [...map.entries()],
    [
      [-1, 'first'],
      [9_997, '9997'],
      [9_998, '9998'],
      [9_999, '9999']
    ]
  );
  assert.deepEqual([...map.values()], ['first', '9997', '9998', '9999']);
  assert.equal(map.size, 4);
  assert.equal(map.delete(5), false);
  map.clear();
  assert.equal(map.size, 0);
  assert.equal(map.get(-1), undefined);
});
