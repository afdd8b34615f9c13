import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rivals } from '../../../src/hub/federation/gossip/rivals.ts';

test('another process has a key where more hubs than may lie close a socket twice for a newer one', () => {
  const rivals = new Rivals(1);
  const notes = ['b', 'b', 'b', 'c'].map((peer, at) => rivals.note(peer, 1_000 * at));
  assert.deepEqual(notes, [false, false, false, false], 'one hub may lie, and once is an accident');
  assert.equal(rivals.note('c', 5_000), true);
  assert.equal(rivals.note('c', 60_000), false, 'that was long ago');
});
