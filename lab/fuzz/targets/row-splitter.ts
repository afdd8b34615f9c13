import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ErrorCode } from '../../../src/errors.ts';
import { type RawRows, RowSplitter, type SnapshotFacts } from '../../../src/replication/snapshot/row-splitter.ts';
import { hostileJson, hostileText, jsonLike, mutated } from '../support/hostile.ts';
import { outcome, target } from '../support/target.ts';

const LIMITS = { maxRowBytes: 200_000, batchBytes: 64 };
const REFUSALS: readonly ErrorCode[] = ['SOURCE_INVALID', 'SOURCE_TRUNCATED'];

const SPECIMEN = {
  schema_version: 7,
  block_height: 12,
  tables: {
    blocks: [
      { a: 1, b: 'x"}],' },
      { a: 2, b: '\\' }
    ],
    empty: [],
    deep: [{ a: { b: [[], { c: null }] } }]
  },
  updated_rows: { blocks: [{ a: 3, b: '{[' }] }
};

interface Body {
  readonly bytes: Uint8Array;
  /** Lengths of the pieces that it comes in, over and over. */
  readonly pieces: readonly number[];
  /** As a server writes it: it must not be refused. */
  readonly sound?: boolean;
}

function split({ bytes, pieces }: Body) {
  const splitter = new RowSplitter(LIMITS);
  const found: RawRows[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = pieces[turn % pieces.length]!;
    found.push(...splitter.push(bytes.subarray(at, at + length)));
    at += length;
  }
  return { facts: splitter.end(), rows: found };
}

/** Rows by section and table, as JSON.parse reads them; null where it does not. */
function parse({ facts, rows }: { facts: SnapshotFacts; rows: readonly RawRows[] }): unknown {
  const read: Record<string, unknown[]> = Object.create(null);
  for (const { section, table, json, count } of rows) {
    const list = JSON.parse(`[${json}]`) as unknown[];
    assert.equal(list.length, count);
    const known = read[`${section}.${table}`] ?? [];
    known.push(...list);
    read[`${section}.${table}`] = known;
  }
  return { facts: { ...facts }, read: { ...read } };
}

function expected(bytes: Uint8Array): unknown {
  const body = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<string, unknown>;
  const names = ['schema_version', 'block_height', 'since_block'].filter((name) => Object.hasOwn(body, name));
  const sections = ['tables', 'updated_rows'].filter((name) => Object.hasOwn(body, name));
  const tables = sections.flatMap((section) =>
    Object.entries(body[section] as object).map(([table, rows]) => [`${section}.${table}`, rows])
  );
  return { facts: Object.fromEntries(names.map((name) => [name, body[name]])), read: Object.fromEntries(tables) };
}

const isJson = (bytes: Uint8Array): boolean => {
  try {
    JSON.parse(Buffer.from(bytes).toString('utf8'));
    return true;
  } catch {
    return false;
  }
};

const texts = fc.oneof(
  { weight: 3, arbitrary: jsonLike(fc.constant(SPECIMEN)).map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: mutated(fc.constant(Buffer.from(JSON.stringify(SPECIMEN, null, 1)))) },
  { weight: 1, arbitrary: hostileJson.map((row) => Buffer.from(`{"tables":{"a":[${row},{"x":${row}}]}}`)) }
);
const pieces = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 });
const soundRows = fc.array(fc.dictionary(hostileText, fc.oneof(hostileText, fc.constant(null))), { maxLength: 5 });
const soundTexts = fc
  .tuple(soundRows, soundRows)
  .map(([rows, more]) => Buffer.from(JSON.stringify({ ...SPECIMEN, tables: { rows, ...SPECIMEN.tables, more } })));
const body = (bytes: string): Body => ({ bytes: Buffer.from(bytes), pieces: [65_536] });
const one = (row: string) => body(`{"tables":{"a":[${row}]}}`);

export const rowSplitter = target<Body>({
  name: 'row-splitter',
  promise:
    'a snapshot body is refused with SOURCE_*, or gives the rows that JSON.parse finds in the whole, however it is cut',
  runs: 4_000,
  shortRuns: 750,
  inputs: fc.oneof(
    { weight: 3, arbitrary: fc.record({ bytes: texts, pieces }) },
    { weight: 1, arbitrary: fc.record({ bytes: soundTexts, pieces, sound: fc.constant(true) }) }
  ),
  check: async (input) => {
    const pieces = await outcome(() => split(input), REFUSALS);
    const whole = await outcome(() => split({ ...input, pieces: [1 << 20] }), REFUSALS);
    assert.equal('refused' in pieces ? pieces.refused.code : '', 'refused' in whole ? whole.refused.code : '');
    if (input.sound && 'refused' in pieces) throw pieces.refused;
    if ('refused' in pieces || 'refused' in whole || !isJson(input.bytes)) return;
    assert.deepEqual(parse(pieces.value), expected(input.bytes));
    assert.deepEqual(parse(whole.value), expected(input.bytes));
  },
  growing: {
    rows: (length) => one(Array.from({ length: length / 10 }, () => '{"a":"b"}').join(',')),
    'a row': (length) => one(`{"a":"${'x'.repeat(length)}`),
    'a batch in small pieces': (length) => ({ ...one('{"a":1},'.repeat(length / 8)), pieces: [7] }),
    tables: (length) => body(`{"tables":{${Array.from({ length: length / 8 }, (_, at) => `"t${at}":[]`).join(',')}}}`),
    spaces: (length) => body(' '.repeat(length)),
    backslashes: (length) => one(`{"a":"${'\\'.repeat(length)}`),
    nesting: (length) => one('['.repeat(length)),
    'keys that mean nothing': (length) =>
      body(`{${Array.from({ length: length / 8 }, (_, at) => `"k${at}":0`).join(',')},"tables":{}}`)
  }
});
