import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareBytes } from '../../../src/consensus/byte-order.ts';
import fc from '../../support/fast-check.ts';

test('property: texts are in the order of their UTF-8 bytes, whatever halves of surrogate pairs are in them', () => {
  const character = fc.oneof(
    fc.constantFrom('a', 'b', '\ud800', '\udbff', '\udc00', '\udfff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })
  );
  const text = fc.array(character, { maxLength: 4 }).map((characters) => characters.join(''));
  fc.assert(
    fc.property(text, text, text, (start, a, b) => {
      const [left, right] = [start + a, start + b];
      assert.equal(Math.sign(compareBytes(left, right)), Buffer.compare(Buffer.from(left), Buffer.from(right)));
    }),
    { numRuns: 2_000 }
  );
});
