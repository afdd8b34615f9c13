import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PushMethod } from '../../../src/indexer/pushes/push.ts';
import { MOST_OF_SOURCE, type QueuedPush, surplusOf } from '../../../src/indexer/pushes/surplus.ts';
import fc from '../../support/fast-check.ts';

/** Pushes in the order of the queue: sources of prices, or methods of others. */
const queue = (...named: readonly string[]): QueuedPush[] =>
  named.map((name, at) => {
    const method: PushMethod = name.startsWith('push') ? (name as PushMethod) : 'pushoracleprice';
    return { id: at + 1, method, source: method === 'pushoracleprice' ? name : null };
  });
const times = (count: number, name: string) => Array.from({ length: count }, () => name);

test('an address that reports too much loses its own oldest prices, and nobody else any', () => {
  const waiting = queue('pushpriceround', 'honest', ...times(MOST_OF_SOURCE + 3, 'loud'), 'pushpriceround', 'honest');
  assert.deepEqual(surplusOf(waiting, 10_000), [3, 4, 5]);
});

test('the address with the most loses when too many wait; a round goes only when no price is left', () => {
  const waiting = queue('pushpriceround', 'a', 'b', 'b', 'b', 'c', 'c', 'pushpricereorg', 'pushpriceround');
  assert.deepEqual(surplusOf(waiting, 9), []);
  assert.deepEqual(surplusOf(waiting, 8), [3]);
  assert.deepEqual(surplusOf(waiting, 7), [3, 4], 'b and c had two each: the older one goes');
  assert.deepEqual(surplusOf(waiting, 6), [3, 4, 6]);
  assert.deepEqual(surplusOf(waiting, 3), [2, 3, 4, 5, 6, 7]);
  assert.deepEqual(surplusOf(waiting, 2), [2, 3, 4, 5, 6, 7, 1], 'the older round');
  assert.deepEqual(surplusOf(waiting, 0).includes(8), false, 'what takes reports back stays');
});

test('no more than are allowed stay, no source keeps more than another lost, and the newest of each stay', () => {
  const names = fc.array(fc.constantFrom('a', 'a', 'a', 'b', 'b', 'c', 'pushpriceround'), { maxLength: 60 });
  fc.assert(
    fc.property(names, fc.nat(60), (named, most) => {
      const waiting = queue(...named);
      const dropped = new Set(surplusOf(waiting, most));
      const kept = waiting.filter(({ id }) => !dropped.has(id));
      assert.equal(kept.length, Math.min(waiting.length, most));
      const isPrice = ({ method }: QueuedPush) => method === 'pushoracleprice';
      if (waiting.some((push) => !isPrice(push) && dropped.has(push.id))) assert.ok(!kept.some(isPrice));
      const counts = (pushes: readonly QueuedPush[]) => Map.groupBy(pushes.filter(isPrice), ({ source }) => source);
      const most1 = Math.max(
        0,
        ...counts(kept)
          .values()
          .map(({ length }) => length)
      );
      for (const [source, own] of counts(waiting)) {
        const stayed = counts(kept).get(source) ?? [];
        assert.deepEqual(stayed, own.slice(own.length - stayed.length), 'the newest');
        if (stayed.length < own.length) assert.ok(stayed.length >= most1 - 1, 'of the longest queue');
      }
    })
  );
});
