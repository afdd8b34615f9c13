import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowSplitter } from '../../../../src/replication/snapshot/row-splitter.ts';

const refuse = (text: string | Buffer, reason: RegExp, limits = { maxRowBytes: 100, batchBytes: 1000 }) =>
  assert.throws(
    () => {
      const splitter = new RowSplitter(limits);
      splitter.push(Buffer.from(text));
      splitter.end();
    },
    (error: Error & { code?: string }) => error.code === 'SOURCE_INVALID' && reason.test(error.message)
  );

test('a row longer than the limit is refused, also before it ends', () => {
  refuse(`{"tables":{"t":[{"a":"${'x'.repeat(120)}`, /longer than 100 bytes/);
});

test('nesting deeper than 64 is refused', () => {
  refuse(`{"tables":{"t":[{"a":${'['.repeat(64)}1${']'.repeat(64)}}]}}`, /nested deeper/);
});

test('bytes after the end are refused', () => refuse('{"tables":{}}{', /follow the end/));
test('a table that comes twice is refused', () => refuse('{"tables":{"t":[],"t":[]}}', /comes twice/));
test('a row that is no object is refused', () => refuse('{"tables":{"t":[1]}}', /no object/));
test('rows without a comma between them are refused', () => refuse('{"tables":{"t":[{}{}]}}', /was expected/));
test('a comma before the end of an array is refused', () => refuse('{"tables":{"t":[{},]}}', /no object/));
test('a table name with other characters is refused', () => refuse('{"tables":{"t`x":[]}}', /other characters/));
test('a name without an end is refused before it fills the memory', () =>
  refuse(`{"${'x'.repeat(300)}`, /longer than 256/));
test('a fact that is no number is refused', () => refuse('{"block_height":"1","tables":{}}', /no whole number/));
test('rows that are not UTF-8 are refused', () => {
  refuse(
    Buffer.concat([Buffer.from('{"tables":{"t":[{"a":"'), Buffer.from([0xff]), Buffer.from('"}]}}')]),
    /not UTF-8/
  );
});

test('SOURCE_TRUNCATED: a body that ends before its end mark, wherever that is', () => {
  const body = '{"schema_version":3,"tables":{"t":[{"a":1},{"a":2}],"u":[]},"block_height":5}';
  for (let size = 0; size <= body.length; size += 1) {
    const splitter = new RowSplitter({ maxRowBytes: 100, batchBytes: 1 });
    splitter.push(Buffer.from(body.slice(0, size)));
    if (size === body.length) assert.deepEqual(splitter.end(), { schema_version: 3, block_height: 5 });
    else assert.throws(() => splitter.end(), { code: 'SOURCE_TRUNCATED' }, body.slice(0, size));
  }
});
