import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RecentOrders } from '../../../../src/replication/snapshot/recent-orders.ts';
import type { SnapshotOrder } from '../../../../src/wire/data/snapshot.ts';

/** Orders, and how often their source was asked. */
function counted() {
  const orders = new RecentOrders();
  const state = { asked: 0, fails: false };
  const find = (resource: string, revision: number) =>
    orders.find(resource, revision, async () => {
      const key = `order ${++state.asked}`;
      if (state.fails) throw new Error(key);
      return { key } as SnapshotOrder;
    });
  return { state, find };
}

test('callers that ask at once for the same have one answer; another query is another question', async () => {
  const { state, find } = counted();
  const revision = 1;
  const found = await Promise.all([find('full', revision), find('full', revision), find('since 5', revision)]);
  assert.deepEqual(
    found.map(({ key }) => key),
    ['order 1', 'order 1', 'order 2']
  );
  assert.equal(state.asked, 2);
});

test('after a broadcast, and a moment later, the source is asked again', async () => {
  const { find } = counted();
  const before = 1;
  assert.equal((await find('full', before)).key, 'order 1');
  const after = 2;
  assert.equal((await find('full', after)).key, 'order 2');
  await sleep(60);
  assert.equal((await find('full', after)).key, 'order 3');
});

test('a failure is told to those who asked, and not to the next one', async () => {
  const { state, find } = counted();
  state.fails = true;
  const failed = await Promise.allSettled([find('full', 0), find('full', 0)]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected']
  );
  assert.equal(state.asked, 1);
  state.fails = false;
  assert.equal((await find('full', 0)).key, 'order 2');
});
