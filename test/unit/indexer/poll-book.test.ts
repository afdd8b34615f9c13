import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PollBook } from '../../../src/indexer/state/poll-book.ts';
import fc from '../../support/fast-check.ts';

type Change = { readonly index: number; readonly endBlock: number; readonly isOpen: boolean };

/** Returns the open polls by their ends, of the same the oldest first. */
function sortedEnds(open: ReadonlyMap<number, number>, height: number): number[] {
  return [...open]
    .filter(([, end]) => end <= height)
    .sort(([a, endA], [b, endB]) => endA - endB || a - b)
    .map(([index]) => index);
}

test('polls end in the order of their ends, whatever is opened, closed and restored', () => {
  const change = fc.record({ index: fc.nat(30), endBlock: fc.nat(8), isOpen: fc.boolean() });
  const step = fc.oneof(change, fc.array(change, { maxLength: 6 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(9), (steps, height) => {
      const [book, open] = [new PollBook(), new Map<number, number>()];
      const put = ({ index, endBlock, isOpen }: Change) => {
        open.delete(index);
        if (isOpen) open.set(index, endBlock);
      };
      for (const one of steps) {
        const changes: readonly Change[] = Array.isArray(one) ? one : [one as Change];
        if (Array.isArray(one)) {
          const found = [...new Map(changes.map((each) => [each.index, each])).values()].filter(({ isOpen }) => isOpen);
          const actions = changes.map(({ index }) => index);
          book.restore(actions, found);
          for (const index of actions) open.delete(index);
          for (const each of found) put(each);
        } else {
          book.put(changes[0]!);
          put(changes[0]!);
        }
        assert.deepEqual([...book.ended(height)], sortedEnds(open, height));
      }
      assert.deepEqual([...book.ended(Number.POSITIVE_INFINITY)], sortedEnds(open, Number.POSITIVE_INFINITY));
    })
  );
});

test('no poll is a key of a map, which takes no more than 2^24', () => {
  const polls = 2_000;
  const sizes: number[] = [];
  const { set } = Map.prototype;
  const { add } = Set.prototype;
  Map.prototype.set = function count(key, value) {
    sizes.push(this.size);
    return set.call(this, key, value);
  };
  Set.prototype.add = function count(value) {
    sizes.push(this.size);
    return add.call(this, value);
  };
  const book = new PollBook();
  try {
    for (let index = 1; index <= polls; index++) book.put({ index, endBlock: 9_000, isOpen: true });
  } finally {
    Map.prototype.set = set;
    Set.prototype.add = add;
  }
  assert.equal([...book.ended(9_000)].length, polls);
  assert.ok(sizes.every((size) => size < polls / 2));
});
