import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowSplitter } from '../../src/replication/snapshot/row-splitter.ts';
import fc from '../support/fast-check.ts';

const LIMITS = { maxRowBytes: 65_536, batchBytes: 64 };

const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', '\u0000', 'é', '🂡') }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
  fc.record({ __xbin__: fc.base64String() })
);
const row = fc.dictionary(fc.string({ maxLength: 4 }), value, { maxKeys: 4 });
const tables = fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), fc.array(row, { maxLength: 6 }), { maxKeys: 4 });
const body = fc.record({ schema_version: fc.nat(), block_height: fc.nat(), tables, updated_rows: tables });

/** Rows by section and table, as the splitter finds them in these pieces of the body. */
function split(pieces: readonly Uint8Array[]): unknown {
  const splitter = new RowSplitter(LIMITS);
  const found: Record<string, Record<string, unknown[]>> = { tables: {}, updated_rows: {} };
  for (const piece of pieces) {
    for (const { section, table, count, json } of splitter.push(piece)) {
      const rows = JSON.parse(`[${json.toString()}]`) as unknown[];
      assert.equal(rows.length, count);
      found[section]![table] = [...(found[section]![table] ?? []), ...rows];
    }
  }
  return { ...splitter.end(), ...found };
}

test('any cutting of any document gives what JSON.parse gives', () => {
  fc.assert(
    fc.property(
      body,
      fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 50 }),
      fc.nat({ max: 2 }),
      (document, sizes, indent) => {
        const text = JSON.stringify(document, null, indent);
        const bytes = Buffer.from(text);
        const pieces: Buffer[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = 1 + sizes[i % sizes.length]!;
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        assert.deepEqual(split(pieces), JSON.parse(text));
      }
    ),
    { numRuns: 300 }
  );
});

test('every single split position of one document gives the same', () => {
  const text =
    '{"schema_version":7,"block_height":12,"tables":{"a":[{"x":"\\"}\\\\"},{"y":[{"z":"é🂡"}]}],"b":[]},"updated_rows":{"c":[{}]}}';
  const bytes = Buffer.from(text);
  for (let at = 0; at <= bytes.length; at++) {
    assert.deepEqual(split([bytes.subarray(0, at), bytes.subarray(at)]), JSON.parse(text), `cut at ${at}`);
  }
});

test('every proper prefix of a body is refused as truncated', () => {
  const bytes = Buffer.from('{"schema_version":7,"block_height":12,"tables":{"a":[{"x":1},{"y":2}]}}');
  for (let at = 0; at < bytes.length; at++) {
    const splitter = new RowSplitter(LIMITS);
    splitter.push(bytes.subarray(0, at));
    assert.throws(() => splitter.end(), { code: 'SOURCE_TRUNCATED' }, `prefix of ${at} bytes`);
  }
});
