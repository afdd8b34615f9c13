import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recent } from '../../../../src/replication/source/answers/recent.ts';

test('callers within the age, or at the same time, share one read', async () => {
  let reads = 0;
  const read = recent(60_000, async () => ++reads);
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1]);
  assert.equal(await read(), 1);
  const eager = recent(0, async () => ++reads);
  await eager();
  assert.equal(await eager(), 3);
});

test('a failed read is told to those who shared it, and the next one reads anew', async () => {
  let reads = 0;
  const read = recent(60_000, async () => {
    if (++reads === 1) throw new Error('gone');
    return reads;
  });
  const both = await Promise.allSettled([read(), read()]);
  assert.ok(both.every(({ status }) => status === 'rejected'));
  assert.equal(await read(), 2);
});
