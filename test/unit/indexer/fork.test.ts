import assert from 'node:assert/strict';
import { test } from 'node:test';
import { highestShared } from '../../../src/indexer/loop/fork.ts';
import fc from '../../support/fast-check.ts';

test('the highest shared block is found, wherever the chains part', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(50), fc.nat(50), fc.nat(50), fc.nat(5), async (shared, ownLength, otherLength, lowest) => {
      const chain = (own: string, length: number) => async (height: number) =>
        height < lowest || height > lowest + length ? null : height - lowest < shared ? `${height}` : `${own}${height}`;
      const highest = lowest + Math.min(ownLength, otherLength);
      const found = await highestShared(chain('a', ownLength), chain('b', otherLength), { lowest, highest });
      assert.equal(found, Math.min(lowest + shared - 1, highest));
    })
  );
});
