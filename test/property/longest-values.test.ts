import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalValue, columnCodec, toField, toLiteral } from '../../src/db/sql-literal.ts';
import { hasCode } from '../../src/errors.ts';
import type { TypedColumn } from '../../src/wire/data/schema.ts';

const codecOf = (type: string) =>
  columnCodec({ name: 'c', type, charset: null, json: false } as TypedColumn, new Set());
/** MAX_ROW_BYTES. */
const LONGEST = 64 * 2 ** 20;
const isRefused = (fault: unknown) => hasCode(fault, 'SOURCE_INVALID');

test('a value as long as a row may be is read and printed, whatever it consists of', () => {
  const bytes = Buffer.alloc((LONGEST / 4) * 3, 7).toString('base64');
  assert.equal(canonicalValue(codecOf('longblob'), { __xbin__: bytes })!.length, (LONGEST / 4) * 3);
  const text = codecOf('longtext');
  const canonical = canonicalValue(text, '\\'.repeat(LONGEST));
  assert.equal(toLiteral(text, canonical).length, 2 * LONGEST + 2);
  assert.equal(toField(canonical).length, 2 * LONGEST);
});

test('SOURCE_INVALID: a value as long as a row may be that its column cannot hold is refused without delay', () => {
  const began = performance.now();
  for (const type of ['bigint(20)', 'year(4)', 'decimal(40,18)', 'double', 'datetime(6)'])
    for (const value of ['0'.repeat(LONGEST), `1.${'0'.repeat(LONGEST)}`, ' '.repeat(LONGEST)])
      assert.throws(() => canonicalValue(codecOf(type), value), isRefused, type);
  assert.throws(() => canonicalValue(codecOf('longblob'), { __xbin__: `${'A'.repeat(LONGEST)}!AAA` }), isRefused);
  const digits = Buffer.alloc((LONGEST / 4) * 3, 1).toString('base64');
  assert.throws(() => canonicalValue(codecOf('bit(64)'), { __xbin__: digits }), isRefused);
  assert.ok(performance.now() - began < 30_000);
});
