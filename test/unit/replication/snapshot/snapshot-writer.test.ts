import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { ChunkWriter } from '../../../../src/replication/snapshot/chunk-writer.ts';
import { openCompressor } from '../../../../src/replication/snapshot/coding/coding.ts';
import { RowEncoder } from '../../../../src/replication/snapshot/row-encoder.ts';
import {
  type SnapshotContent,
  type TableSource,
  writeSnapshot
} from '../../../../src/replication/snapshot/snapshot-writer.ts';
import type { TypedColumn } from '../../../../src/wire/data/schema.ts';
import type { SnapshotCoding } from '../../../../src/wire/data/snapshot.ts';
import fc from '../../../support/fast-check.ts';

/** A row as MariaDB's text protocol carries it, with bytes around it that are not its own. */
function packet(values: readonly (string | Buffer | null)[]): { bytes: Buffer; start: number; end: number } {
  const parts = values.flatMap((value) => {
    if (value === null) return [Buffer.from([0xfb])];
    const bytes = Buffer.from(value as string);
    const length = Buffer.alloc(9);
    if (bytes.length < 0xfb) return [Buffer.from([bytes.length]), bytes];
    length[0] = bytes.length < 2 ** 16 ? 0xfc : bytes.length < 2 ** 24 ? 0xfd : 0xfe;
    length.writeBigUInt64LE(BigInt(bytes.length), 1);
    return [length.subarray(0, { 252: 3, 253: 4, 254: 9 }[length[0]]), bytes];
  });
  const body = Buffer.concat(parts);
  return { bytes: Buffer.concat([Buffer.from('\x05"\\'), body, Buffer.from('"')]), start: 3, end: 3 + body.length };
}

function column(name: string, type: string, charset: string | null = null): TypedColumn {
  const none = { default: null, collation: null, onUpdate: null, generated: null };
  return { name, type, nullable: true, charset, autoIncrement: false, json: false, ...none };
}

/** The JSON text of one row. */
function encode(columns: readonly TypedColumn[], values: readonly (string | Buffer | null)[]): string {
  const chunks: Buffer[] = [];
  const chunk = new ChunkWriter(async (bytes) => void chunks.push(Buffer.from(bytes)));
  const { bytes, start, end } = packet(values);
  new RowEncoder(columns).encode(bytes, start, end, chunk);
  chunk.flush();
  return Buffer.concat(chunks).toString('utf8');
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\0', '\n', '\u001f', '\u007f', '\u2028', 'ä', '😀', '/') })
);

test('text comes out as JSON.stringify writes it, whatever is in it and in the names of columns', () => {
  fc.assert(
    fc.property(fc.dictionary(text, fc.option(text), { maxKeys: 5, noNullPrototype: true }), (row) => {
      const names = Object.keys(row);
      const columns = names.map((name) => column(name, 'varchar(60)', 'utf8mb4'));
      if (names.length > 0) assert.equal(encode(columns, Object.values(row)), JSON.stringify(row));
    })
  );
});

test('integers are numbers up to 2^53 and decimal strings beyond, without leading zeros', () => {
  for (const [sent, wanted] of [
    ['0', '0'],
    ['-1', '-1'],
    ['00042', '42'],
    ['999999999999999', '999999999999999'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '"9007199254740992"'],
    ['-9007199254740991', '-9007199254740991'],
    ['-9223372036854775808', '"-9223372036854775808"'],
    ['18446744073709551615', '"18446744073709551615"']
  ] as const)
    assert.equal(encode([column('n', 'bigint(20)')], [sent]), `{"n":${wanted}}`);
});

test('every double comes out as JSON.stringify writes it, and -0 keeps its sign', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const wanted = Object.is(value, -0) ? '"-0"' : JSON.stringify(value);
      assert.equal(encode([column('d', 'double')], [Object.is(value, -0) ? '-0' : String(value)]), `{"d":${wanted}}`);
    })
  );
  assert.equal(encode([column('d', 'float')], ['9.007199254740993']), '{"d":9.007199254740993}');
});

test('each kind of value in its wire form, and lengths of every size', () => {
  const kinds: readonly [string, string | Buffer, unknown, charset?: string][] = [
    ['decimal(40,18)', '-0.500000000000000000', '-0.500000000000000000'],
    ['datetime(6)', '2026-01-02 03:04:05.123456', '2026-01-02 03:04:05.123456'],
    ['year(4)', '2026', 2026],
    ["enum('a')", 'a', 'a', 'utf8mb4'],
    ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123e4567-e89b-12d3-a456-426614174000'],
    ['bit(10)', Buffer.from([2, 1]), { __xbin__: 'AgE=' }],
    ['varbinary(20)', Buffer.alloc(0), { __xbin__: '' }],
    ['point', Buffer.from([255]), { __xbin__: '/w==' }],
    ['longblob', Buffer.alloc(70_000, 255), { __xbin__: Buffer.alloc(70_000, 255).toString('base64') }],
    ['longtext', '\u0001'.repeat(300), '\u0001'.repeat(300), 'latin1'],
    ['longtext', 'é'.repeat(9_000_000), 'é'.repeat(9_000_000), 'utf8mb4'],
    ['int(11)', null as unknown as string, null]
  ];
  const columns = kinds.map(([type, , , charset], index) => column(`c${index}`, type, charset ?? null));
  const row = Object.fromEntries(kinds.map(([, , value], index) => [`c${index}`, value]));
  const made = encode(
    columns,
    kinds.map(([, sent]) => sent)
  );
  assert.ok(made === JSON.stringify(row), 'too long to print');
});

test('chunks keep order and four-byte characters, and are handed on when full', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.integer({ min: 1, max: 20 }), (pieces, size) => {
      const chunks: Buffer[] = [];
      const chunk = new ChunkWriter(async (bytes) => void chunks.push(Buffer.from(bytes)), size);
      for (const piece of pieces) {
        chunk.text(piece);
        assert.ok(chunk.flushWhenFull() || chunk.length < size);
      }
      chunk.flush();
      assert.equal(Buffer.concat(chunks).toString('utf8'), pieces.join(''));
      assert.ok(chunks.every((each) => each.length > 0));
    })
  );
});

test('a body has its keys in order, and tables without rows are left out', async () => {
  const table = (name: string, columnName: string, values: readonly (string | null)[]): TableSource => ({
    table: name,
    columns: [column(columnName, 'varchar(9)', 'utf8mb4')],
    stream: async (onRow) => {
      for (const { bytes, start, end } of values.map((value) => packet([value]))) await onRow(bytes, start, end);
    }
  });
  const body = async (
    since: number | null,
    updated: readonly TableSource[] | null,
    coding: SnapshotCoding = 'gzip',
    older: SnapshotContent['older'] = null
  ) => {
    const written: Buffer[] = [];
    const compressor = openCompressor(coding, async (bytes) => void written.push(bytes));
    const tables = [table('a', 'x', []), table('b', 'x', ['1', null]), table('c', 'x', []), table('d', 'k"', ['é'])];
    const content = { schemaVersion: 7, blockHeight: 9, since, older, tables, updatedRows: updated };
    await writeSnapshot(content, compressor);
    const decompress = coding === 'gzip' ? gunzipSync : zstdDecompressSync;
    return decompress(Buffer.concat(written)).toString('utf8');
  };
  const tables = '"tables":{"b":[{"x":"1"},{"x":null}],"d":[{"k\\"":"é"}]}';
  assert.equal(await body(null, null), `{"schema_version":7,"block_height":9,${tables}}`);
  assert.equal(await body(null, null, 'zstd'), `{"schema_version":7,"block_height":9,${tables}}`);
  assert.equal(await body(3, []), `{"schema_version":7,"block_height":9,"since_block":3,${tables},"updated_rows":{}}`);
  assert.equal(
    await body(3, [table('e', 'y', ['1.50'])]),
    `{"schema_version":7,"block_height":9,"since_block":3,${tables},"updated_rows":{"e":[{"y":"1.50"}]}}`
  );
  const part = (name: string, values: readonly string[]) => ({
    ...table(name, 'y', values),
    spans: { column: 'y', spans: [[1, 2] as [number, number], null] }
  });
  assert.equal(
    await body(3, [], 'gzip', [part('f', []), part('g', ['2'])]),
    `{"schema_version":7,"block_height":9,"since_block":3,"older_spans":{"f":[{"column":"y","spans":[[1,2],null]}],"g":[{"column":"y","spans":[[1,2],null]}]},"older_rows":{"g":[{"y":"2"}]},${tables},"updated_rows":{}}`
  );
});
