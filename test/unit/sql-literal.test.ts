import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalValue, columnCodec, toField, toLiteral } from '../../src/db/sql-literal.ts';
import type { TypedColumn } from '../../src/wire/schema.ts';

test('the year 0 keeps its four digits: as text, 0 would be stored as 2000', () => {
  const codec = columnCodec({ name: 'y', type: 'year(4)', charset: null } as TypedColumn, new Set());
  for (const [given, stored] of [
    [0, '0000'],
    ['0', '0000'],
    [1901, '1901'],
    [2155, '2155']
  ] as const) {
    const canonical = canonicalValue(codec, given);
    assert.equal(toField(canonical), stored);
    assert.equal(toLiteral(codec, canonical), stored);
  }
});
