import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, type Row } from '../../../src/explorer/live/advance.ts';
import fc from '../../support/fast-check.ts';

/** A chain, newest first, whose hashes commit to all blocks below. */
const chain = (texts: readonly string[], from = 1): Row[] =>
  texts.map((_, place) => ({ block_index: from + place, ledger_hash: texts.slice(0, place + 1).join('') })).reverse();
const anyTexts = fc.array(fc.constantFrom('a', 'b'), { maxLength: 12 });

test('messages about two chains lead from one to the other', () => {
  fc.assert(
    fc.property(anyTexts, anyTexts, anyTexts, (shared, before, after) => {
      const [known, standing] = [chain([...shared, ...before]), chain([...shared, ...after])];
      if (known.length === 0 || standing.length === 0) return;
      const { fork, skippedTo, blocks } = compare(known, standing, 126);
      const kept = known.filter(({ block_index }) => block_index <= (fork ?? block_index));
      assert.deepEqual([...[...blocks].reverse(), ...kept], standing);
      assert.equal(skippedTo, null);
    })
  );
});

test('blocks out of sight are a gap, and the first look tells what stands', () => {
  const far = chain(['x', 'y'], 50);
  assert.deepEqual(compare(chain(['a', 'b']), far, 126), { fork: null, skippedTo: 50, blocks: [...far].reverse() });
  assert.deepEqual(compare([], far, 126), { fork: null, skippedTo: null, blocks: [...far].reverse() });
  assert.deepEqual(compare(far, far, 126), { fork: null, skippedTo: null, blocks: [] });
});

test('a reorg that replaced all blocks in sight is told as deep as it may have been, with the blocks between as a gap', () => {
  const tip = (letter: string) =>
    chain(
      Array.from({ length: 100 }, () => letter),
      568
    );
  const { fork, skippedTo, blocks } = compare(tip('a'), tip('b'), 126);
  assert.deepEqual([fork, skippedTo, blocks.length], [667 - 126, 568, 100]);
  const shorter = compare(
    tip('a'),
    chain(
      Array.from({ length: 100 }, () => 'b'),
      453
    ),
    126
  );
  assert.deepEqual([shorter.fork, shorter.skippedTo, shorter.blocks.length], [452, null, 100]);
});
