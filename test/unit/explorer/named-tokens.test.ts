import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patternOf } from '../../../src/explorer/read/named-tokens.ts';
import fc from '../../support/fast-check.ts';

const word = fc.string({ unit: fc.constantFrom('A', 'B', '*', '.', '%'), maxLength: 8 });

test('a pattern matches what the same regular expression does', () => {
  fc.assert(
    fc.property(word, word, (pattern, tick) => {
      const parts = pattern.split('*').map((part) => RegExp.escape(part));
      assert.equal(patternOf(pattern)(tick), new RegExp(`^${parts.join('.*')}$`).test(tick));
    }),
    { numRuns: 5_000 }
  );
});

test('a pattern of many stars takes no longer than its letters', () => {
  const began = performance.now();
  assert.equal(patternOf('*A'.repeat(100))('A'.repeat(99).concat('B'.repeat(151))), false);
  assert.ok(performance.now() - began < 2_000);
});
