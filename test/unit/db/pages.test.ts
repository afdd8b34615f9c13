import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pages } from '../../../src/db/pages.ts';
import fc from '../../support/fast-check.ts';

const MEBIBYTE = 2 ** 20;

test('property: parts in order hold everything, and none has more items or bytes than a statement takes', () => {
  const row = fc.tuple(
    fc.integer(),
    fc.uint8Array({ maxLength: 400 }),
    fc.constantFrom('', 'é', 'long'.repeat(40_000))
  );
  fc.assert(
    fc.property(fc.array(row, { maxLength: 60 }), fc.integer({ min: 1, max: 50 }), (list, most) => {
      const parts = pages(list, most);
      assert.deepEqual(parts.flat(), list);
      for (const part of parts) {
        assert.ok(part.length >= 1 && part.length <= most);
        const bytes = part.reduce((sum, [, data, text]) => sum + 2 * data.length + Buffer.byteLength(text), 0);
        assert.ok(bytes <= MEBIBYTE);
      }
    })
  );
});

test('an item that is too long goes alone', () => {
  const long = Buffer.alloc(MEBIBYTE);
  assert.deepEqual(
    pages([Buffer.alloc(1), long, Buffer.alloc(2), Buffer.alloc(3)]).map((part) => part.map(({ length }) => length)),
    [[1], [MEBIBYTE], [2, 3]]
  );
});
