import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heedLearned } from '../../../../src/replication/replica/parts/learned.ts';

type Parts = Parameters<typeof heedLearned>[0];

/** A replica at block 5 that lacks rows: a comparison is under way, or due. */
const lacking = () =>
  ({
    store: { state: { height: 5, misses: true, complete: false, learned: 'first' } },
    sources: { learned: 'first' }
  }) as unknown as Parts;

test('a source that learns rows while a replica is compared makes another comparison necessary, once', async () => {
  const parts = lacking();
  assert.equal(await heedLearned(parts, { height: 7, id: 'second' }), true);
  assert.equal(await heedLearned(parts, { height: 7, id: 'second' }), false);
  assert.equal(await heedLearned(parts, { height: 7, id: 'third' }), true);
});

test('rows that it learned below the replica, or that the replica was compared with, make none necessary', async () => {
  assert.equal(await heedLearned(lacking(), { height: 4, id: 'second' }), false);
  assert.equal(await heedLearned(lacking(), { height: 7, id: 'first' }), false);
  assert.equal(await heedLearned(lacking(), null), false);
});
