import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Compile } from 'typebox/compile';
import { findSpans } from '../../../src/replication/replica/compare/range-difference.ts';
import {
  DatabaseDigestSchema,
  DIGEST_ALGORITHM,
  DigestParametersSchema,
  type DigestQuery,
  digestParameters,
  RangeRowsSchema,
  TableRangesSchema
} from '../../../src/wire/data/digest.ts';

const KEY = 'ab'.repeat(16);
const HEAD = { block_height: 7, block_hash: 'aa', fingerprint: 'f', algorithm: DIGEST_ALGORITHM, key: KEY };
const TABLE = { table: 'sends', rows: 3, digest: '18446744073709551616' };

test("a client's parameters pass the schema of the route", () => {
  const isParameters = Compile(DigestParametersSchema);
  const queries: DigestQuery[] = [
    { table: null, range: null, rows: false },
    { table: null, range: null, rows: false, key: KEY },
    { table: 'sends', range: null, rows: false, settled: true, key: KEY },
    { table: 'sends', range: { from: -1, to: 7, block: null }, rows: false },
    { table: 'sends', range: { from: 0, to: 4_294_967_295, block: 7 }, rows: true }
  ];
  for (const query of queries) {
    const parameters = Object.fromEntries(digestParameters(query));
    assert.ok(isParameters.Check(parameters), JSON.stringify(parameters));
  }
  assert.equal(String(digestParameters(queries[4]!)), 'table=sends&from=0&to=4294967295&block=7&rows=1');
});

test('answers of the right shape pass, and nothing else does', () => {
  const isDigest = Compile(DatabaseDigestSchema);
  const isRanges = Compile(TableRangesSchema);
  const isRows = Compile(RangeRowsSchema);
  assert.ok(isDigest.Check({ ...HEAD, tables: [{ ...TABLE, class: 'scoped' }] }));
  assert.ok(isRanges.Check({ ...HEAD, ...TABLE, ranges: [{ from: -1, to: 0, rows: 3, digest: '9' }] }));
  assert.ok(isRows.Check({ ...HEAD, ...TABLE, data: [{ a: 1, b: { __xbin__: '' } }] }));
  const refused: unknown[] = [
    { ...HEAD, tables: [{ ...TABLE, class: 'heap' }] },
    { ...HEAD, tables: [{ ...TABLE, class: 'scoped', digest: '-1' }] },
    { ...HEAD, tables: [{ ...TABLE, class: 'scoped', digest: 'abc' }] },
    { ...HEAD, tables: [{ ...TABLE, class: 'scoped', rows: 1.5 }] },
    { ...HEAD, tables: [{ ...TABLE, class: 'scoped', table: 'a`b' }] },
    { ...HEAD, block_height: -1, tables: [] },
    { ...HEAD, block_height: '7', tables: [] },
    { ...HEAD },
    { ...HEAD, algorithm: undefined, tables: [] },
    { ...HEAD, algorithm: 'crc32-product/1', tables: [] },
    { ...HEAD, key: 'AB'.repeat(16), tables: [] },
    { ...HEAD, key: undefined, tables: [] }
  ];
  for (const body of refused) assert.equal(isDigest.Check(body), false, JSON.stringify(body));
  assert.equal(isRanges.Check({ ...HEAD, ...TABLE, ranges: [{ from: -2, to: 0, rows: 3, digest: '9' }] }), false);
  assert.equal(isRows.Check({ ...HEAD, ...TABLE, data: [1] }), false);
});

test('spans: what differs, missing on either side, and joined while few rows lie between', () => {
  const range = (from: number, rows: number, digest = '1') => ({ from, to: from + 9, rows, digest });
  assert.deepEqual(findSpans([range(0, 5)], [range(0, 5)], null), []);
  assert.deepEqual(findSpans([range(0, 5, '2')], [range(0, 5)], null), [{ from: 0, to: 9, rows: 5, block: null }]);
  assert.deepEqual(findSpans([range(10, 5)], [], 3), [{ from: 10, to: 19, rows: 5, block: 3 }]);
  assert.deepEqual(findSpans([], [range(10, 5)], null), [{ from: 10, to: 19, rows: 5, block: null }]);
  const near = findSpans([range(0, 5), range(10, 7), range(20, 6)], [range(10, 7)], null);
  assert.deepEqual(near, [{ from: 0, to: 29, rows: 18, block: null }]);
  const far = findSpans([range(0, 5), range(10, 5_000), range(20, 6)], [range(10, 5_000)], null);
  assert.deepEqual(
    far.map(({ from, to }) => [from, to]),
    [
      [0, 9],
      [20, 29]
    ]
  );
});
