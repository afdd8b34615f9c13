import assert from 'node:assert/strict';
import fc from 'fast-check';
import { canonicalValue, columnCodec, toField, toLiteral, toTupleMember } from '../../../src/db/sql-literal.ts';
import { parseCreateTable } from '../../../src/replication/ddl/create-table-parser.ts';
import { parseJson } from '../../../src/wire/json.ts';
import { hostileJson, hostileText, ODD_NUMBERS } from '../support/hostile.ts';
import { outcome, target } from '../support/target.ts';

const TYPES = [
  'int(11)',
  'bigint(20) unsigned',
  'year(4)',
  'decimal(40,18)',
  'float',
  'double',
  'bit(5)',
  'varbinary(20)',
  'longblob',
  'varchar(40)',
  "enum('a','b')",
  'json',
  'date',
  'time(2)',
  'timestamp(6)',
  'uuid'
];
const CODECS = TYPES.flatMap((type) => {
  const { columns } = parseCreateTable('t', `CREATE TABLE \`t\` (\`c\` ${type})`);
  return [new Set<string>(), new Set(['c'])].map((keys) => columnCodec(columns[0]!, keys));
});

interface Value {
  readonly codec: (typeof CODECS)[number];
  readonly json: string;
}

/** As every answer and message is read; undefined where it is refused as a whole. */
function read(json: string): unknown {
  try {
    return parseJson(Buffer.from(json));
  } catch {
    return undefined;
  }
}

/** One literal, of which nothing gets out. */
const LITERAL =
  /^(?:NULL|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|(?:_[a-z0-9]+ )?x'(?:[0-9a-f]{2})*'|'(?:[^'\\\0]|\\['\\0])*')$/is;
/** One field of a LOAD DATA file: no tab or line break but escaped. */
const FIELD = /^(?:[^\\\t\n\r\0]|\\[\\tnr0N])*$/s;

const quoted = (texts: fc.Arbitrary<string>) => texts.map((text) => JSON.stringify(text));
const values = fc.oneof(
  hostileJson,
  quoted(hostileText),
  quoted(fc.constantFrom(...ODD_NUMBERS)),
  quoted(fc.string({ unit: fc.constantFrom('2', '0', '-', ':', ' ', '.', "'", '\\', ';', '\t', '\n'), maxLength: 40 })),
  fc.oneof(fc.base64String(), hostileText).map((text) => `{"__xbin__":${JSON.stringify(text)}}`)
);

export const rowValues = target<Value>({
  name: 'row-values',
  promise: 'a value of a row is refused with SOURCE_INVALID, or is one SQL literal and one field of a bulk load',
  runs: 20_000,
  shortRuns: 3_000,
  inputs: fc.record({ codec: fc.constantFrom(...CODECS), json: values }),
  check: async ({ codec, json }) => {
    const value = read(json);
    if (value === undefined) return;
    const found = await outcome(() => canonicalValue(codec, value), ['SOURCE_INVALID']);
    if ('refused' in found) return;
    const canonical = found.value;
    assert.match(toLiteral(codec, canonical), LITERAL);
    assert.match(toTupleMember(codec, canonical), /^(?:CONVERT\(.+ USING [a-z0-9]+\)|[^C].*)$/s);
    assert.match(toField(canonical), FIELD);
    assert.equal(canonicalValue(codec, JSON.parse(JSON.stringify(value))), canonical);
    if (codec.kind === 'text' && typeof value === 'string') assert.equal(canonical, value);
    if (codec.kind === 'integer' && canonical !== null) assert.equal(BigInt(canonical), BigInt(value as number));
  },
  growing: {
    digits: (length) => ({ codec: CODECS[0]!, json: `"${'1'.repeat(length)}"` }),
    'a text': (length) => ({ codec: CODECS[18]!, json: JSON.stringify("'\\\0".repeat(length / 3)) }),
    base64: (length) => ({ codec: CODECS[14]!, json: `{"__xbin__":"${'AAAA'.repeat(length / 4)}"}` }),
    'base64 that breaks off': (length) => ({
      codec: CODECS[14]!,
      json: `{"__xbin__":"${'AAAA'.repeat(length / 4)}!"}`
    }),
    'a document': (length) => ({ codec: CODECS[22]!, json: `[${'1,'.repeat(length / 2)}1]` }),
    'a moment': (length) => ({ codec: CODECS[24]!, json: `"${'2-'.repeat(length / 2)}"` })
  }
});
