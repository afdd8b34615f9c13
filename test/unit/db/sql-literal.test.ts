import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalValue, columnCodec, toField, toLiteral } from '../../../src/db/sql-literal.ts';
import { hasCode } from '../../../src/errors.ts';
import type { TypedColumn } from '../../../src/wire/data/schema.ts';
import fc from '../../support/fast-check.ts';

const codecOf = (type: string, json = false) =>
  columnCodec({ name: 'c', type, charset: null, json } as TypedColumn, new Set());
const isRefused = (fault: unknown) => hasCode(fault, 'SOURCE_INVALID');

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

test('SOURCE_INVALID: a year that is a calculation in SQL, and a document that holds what JSON cannot say', () => {
  const codec = (type: string, json = false) =>
    columnCodec({ name: 'c', type, charset: null, json } as TypedColumn, new Set());
  for (const [of, value] of [
    [codec('year(4)'), -5],
    [codec('year(4)'), '-0'],
    [codec('year(4)'), 2000.5],
    [codec('longtext', true), { a: [Number.POSITIVE_INFINITY] }]
  ] as const)
    assert.throws(
      () => canonicalValue(of, value),
      (fault) => hasCode(fault, 'SOURCE_INVALID')
    );
});

test('a text is taken for base64 exactly when it is: four characters of the alphabet at a time, padded at the end', () => {
  const strict = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
  const signs = fc.constantFrom('A', 'z', '0', '+', '/', '=', '=', '-', '_', ' ', 'é');
  const texts = fc.oneof(
    fc.string({ unit: signs, maxLength: 12 }),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'))
  );
  fc.assert(
    fc.property(texts, (text) => {
      const read = () => canonicalValue(codecOf('longblob'), { __xbin__: text });
      if (strict.test(text)) assert.equal(read(), Buffer.from(text, 'base64').toString('latin1'));
      else assert.throws(read, isRefused);
    }),
    { numRuns: 2000 }
  );
});
