import type { Random } from '../../src/devnet/random.ts';

/** A type of column, and the SQL literals of the values that it is tried with. */
export interface ColumnKind {
  readonly type: string;
  /** Expressions of a generated column over a column of this kind; null: none. */
  readonly derived: readonly string[] | null;
  literal(random: Random): string;
}

type Literals = readonly [string, ...string[]];

const HOSTILE_TEXTS = [
  '',
  ' ',
  'NULL',
  '\\N',
  'a',
  'A',
  'a ',
  'ä',
  'Ä',
  'it\'s \\ "quoted"',
  'tab\tnewline\nreturn\r',
  'nul\0 and \x1a',
  '😀 four bytes 𝒳',
  'é',
  'ß',
  'ss',
  '￿',
  '{"__xbin__":"AAEC"}',
  '0',
  '-1',
  '1e400'
] as const;

const hex = (bytes: Uint8Array | string): string => Buffer.from(bytes as string).toString('hex');
const utf8 = (text: string): string => `_utf8mb4 x'${hex(text)}'`;
const bytes = (...values: readonly number[]): string => `x'${hex(Uint8Array.from(values))}'`;
const ALL_BYTES = Array.from({ length: 256 }, (_, value) => value);
const quoted = (values: readonly (string | number)[]): Literals => values.map((value) => `'${value}'`) as never;

function pool(type: string, literals: Literals, derived: readonly string[] | null = null): ColumnKind {
  return { type, derived, literal: (random) => random.pick(literals) };
}

function integer(name: string, bits: number): ColumnKind[] {
  const top = 2n ** BigInt(bits);
  const signed = [-(top / 2n), top / 2n - 1n, -1n, 0n, 1n, 7n].map(String);
  const unsigned = [top - 1n, top / 2n, 0n, 1n, 9n].map(String);
  return [
    pool(name, signed as never, ['CONCAT(#, 1)', 'MOD(#, 7)']),
    pool(`${name} UNSIGNED`, unsigned as never, ['HEX(#)'])
  ];
}

const text = (type: string, longest: number): ColumnKind => ({
  type,
  derived: ['CONCAT(#, 1)', 'CHAR_LENGTH(#)', 'LENGTH(#)', 'MD5(#)'],
  literal: (random) =>
    random.between(1, 15) === 1
      ? `REPEAT(${utf8('x😀')}, ${Math.floor(longest / 5)})`
      : utf8(cut(random.pick(HOSTILE_TEXTS), longest))
});
const cut = (value: string, length: number): string => [...value].slice(0, length).join('');

const latin = (type: string): ColumnKind => ({
  type,
  derived: ['HEX(#)'],
  literal: (random) =>
    `_latin1 ${bytes(...Array.from({ length: random.between(0, 9) }, () => random.between(0, 255)), 33)}`
});

/** Text of a character set that knows these words. */
const foreign = (type: string, ...words: readonly string[]): ColumnKind =>
  pool(type, ['', ' ', 'A', "it's", ...words].map(utf8) as never, ['HEX(#)', 'CHAR_LENGTH(#)']);

const binary = (type: string, longest: number): ColumnKind => ({
  type,
  derived: longest > 256 ? ['HEX(#)', 'LENGTH(#)'] : null,
  literal: (random) => {
    if (longest >= 256 && random.between(1, 4) === 1) return bytes(...ALL_BYTES);
    return bytes(...Array.from({ length: random.between(0, Math.min(longest, 12)) }, () => random.between(0, 255)));
  }
});

/** 65 digits, of which so many stand behind the point. */
function decimal(scale: number, unsigned: boolean): ColumnKind {
  const digits = (digit: string) =>
    scale === 0 ? digit.repeat(65) : `${digit.repeat(65 - scale)}.${digit.repeat(scale)}`;
  const least = scale === 0 ? '1' : `0.${'0'.repeat(scale - 1)}1`;
  const literals = [digits('9'), digits('1'), '0', least, ...(unsigned ? [] : [`-${digits('9')}`, `-${least}`])];
  return pool(`DECIMAL(65,${scale})${unsigned ? ' UNSIGNED' : ''}`, literals as never, ['ROUND(#, 1)']);
}

/** Every type of column that may travel, with its extremes. */
export const COLUMN_KINDS: readonly [ColumnKind, ...ColumnKind[]] = [
  text('VARCHAR(250) COLLATE utf8mb4_general_ci', 250),
  ...integer('TINYINT', 8),
  ...integer('SMALLINT', 16),
  ...integer('MEDIUMINT', 24),
  ...integer('INT', 32),
  ...integer('BIGINT', 64),
  pool('INT(7) UNSIGNED ZEROFILL', ['0', '7', '4294967295']),
  decimal(0, false),
  decimal(30, false),
  decimal(38, true),
  pool('DECIMAL(5,2)', ['-999.99', '999.99', '0.00', '0.01']),
  pool('FLOAT', ['3.4028234663852886e38', '-3.4028234663852886e38', '1.17549435e-38', '1e-45', '0', '0.1', '16777217']),
  pool('FLOAT UNSIGNED', ['0.3', '123456.789', '0']),
  pool('DOUBLE', [
    '1.7976931348623157e308',
    '-1.7976931348623157e308',
    '2.2250738585072014e-308',
    '5e-324',
    '0',
    '0.1',
    '0.30000000000000004',
    '9007199254740993',
    '1e22',
    '123456789012345680000'
  ]),
  pool('BIT(1)', ["b'0'", "b'1'"]),
  pool('BIT(20)', ["b'0'", "b'11111111111111111111'", "b'1011100'"]),
  pool('BIT(64)', ["b'0'", `b'${'1'.repeat(64)}'`, "b'10'", `b'${'10'.repeat(32)}'`]),
  pool('BOOLEAN', ['0', '1', '-128']),
  text('CHAR(10) COLLATE utf8mb4_general_ci', 10),
  text('CHAR(40) COLLATE utf8mb4_bin', 40),
  text('VARCHAR(90) COLLATE utf8mb4_bin', 90),
  text('VARCHAR(90) COLLATE utf8mb4_unicode_ci', 90),
  latin('VARCHAR(250) CHARACTER SET latin1'),
  latin('CHAR(20) CHARACTER SET latin1 COLLATE latin1_bin'),
  foreign('VARCHAR(40) CHARACTER SET cp1251', 'жук', 'ЖУК', 'ё№'),
  foreign('CHAR(12) CHARACTER SET ucs2', 'ä', '中文', '￿'),
  foreign('VARCHAR(40) CHARACTER SET utf16', '😀', 'ß', '中'),
  foreign('VARCHAR(40) CHARACTER SET utf32 COLLATE utf32_bin', '😀', 'A '),
  foreign('VARCHAR(40) CHARACTER SET utf8mb3', 'é', '中文'),
  foreign('VARCHAR(40) CHARACTER SET gbk', '中文', '元'),
  foreign('TEXT CHARACTER SET sjis', 'ソ', 'カナ', '表'),
  foreign('TEXT CHARACTER SET ascii', 'a b', '\\', '"'),
  text('TINYTEXT', 50),
  text('TEXT COLLATE utf8mb4_bin', 9_000),
  text('MEDIUMTEXT', 60_000),
  text('LONGTEXT', 60_000),
  binary('BINARY(12)', 12),
  binary('VARBINARY(300)', 300),
  binary('TINYBLOB', 200),
  binary('BLOB', 300),
  binary('MEDIUMBLOB', 300),
  binary('LONGBLOB', 300),
  pool('DATE', quoted(['0000-00-00', '1000-01-01', '9999-12-31', '2024-02-29', '0001-01-01'])),
  pool(
    'DATETIME',
    quoted(['0000-00-00 00:00:00', '1000-01-01 00:00:00', '9999-12-31 23:59:59', '2024-02-29 12:30:00'])
  ),
  pool('DATETIME(6)', quoted(['0000-00-00 00:00:00', '9999-12-31 23:59:59.999999', '2024-02-29 12:30:00.000001'])),
  pool(
    'TIMESTAMP(6) NULL',
    quoted(['0000-00-00 00:00:00', '1970-01-01 00:00:01', '2038-01-19 03:14:07.999999', '2024-03-31 01:30:00.5'])
  ),
  pool('TIME', quoted(['-838:59:59', '838:59:59', '00:00:00', '-00:00:01'])),
  pool('TIME(6)', quoted(['-838:59:59.999999', '838:59:59.999999', '-00:00:00.000001', '12:00:00'])),
  pool('YEAR', ['0', '1901', '2155', '2024']),
  pool("ENUM('a','b,c','it''s','ü','')", quoted(['a', 'b,c', "it''s", 'ü', ''])),
  pool("SET('x','y z','ü','back\\\\slash')", quoted(['', 'x', 'x,ü', 'x,y z,ü,back\\\\slash'])),
  pool(
    'JSON',
    quoted(['{}', 'null', '[1,2.50,"ü😀"]', '{"b":1,  "a":12345678901234567890, "b":2}', '"text"', '1e400'])
  ),
  pool(
    'UUID',
    quoted([
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
      '123e4567-e89b-12d3-a456-426655440000'
    ])
  ),
  pool('INET4', quoted(['0.0.0.0', '255.255.255.255', '10.0.0.1'])),
  pool('INET6', quoted(['::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::ffff:10.0.0.1', '2001:db8::1']))
];

/** Types whose values may name a row; few values, so that a key is given up and taken again. */
export const KEY_KINDS: readonly [ColumnKind, ...ColumnKind[]] = [
  {
    type: 'BIGINT UNSIGNED',
    derived: null,
    literal: (random) => random.pick(['18446744073709551615', '9007199254740993', '0', String(random.between(1, 60))])
  },
  { type: 'INT', derived: null, literal: (random) => String(random.between(-20, 20)) },
  text('VARCHAR(60) COLLATE utf8mb4_general_ci', 60),
  text('VARCHAR(60) COLLATE utf8mb4_bin', 60),
  text('CHAR(9) COLLATE utf8mb4_general_ci', 9),
  latin('VARCHAR(30) CHARACTER SET latin1 COLLATE latin1_bin'),
  {
    type: 'VARBINARY(12)',
    derived: null,
    literal: (random) =>
      bytes(...Array.from({ length: random.between(0, 3) }, () => random.pick([0, 32, 92, 128, 255])))
  },
  { type: 'BINARY(4)', derived: null, literal: (random) => bytes(random.between(0, 9), random.pick([0, 92, 255])) },
  decimal(30, false),
  pool(
    'DATETIME(6)',
    quoted(['0000-00-00 00:00:00', '9999-12-31 23:59:59.999999', '2024-02-29 12:30:00.000001', '2024-02-29 12:30:00'])
  ),
  pool('DATE', quoted(['0000-00-00', '1000-01-01', '9999-12-31', '2024-02-29'])),
  pool('TIME(6)', quoted(['-838:59:59.999999', '838:59:59.999999', '-00:00:00.000001', '12:00:00'])),
  pool('BIT(64)', ["b'0'", `b'${'1'.repeat(64)}'`, "b'10'", `b'${'10'.repeat(32)}'`]),
  pool('DOUBLE', ['1.7976931348623157e308', '5e-324', '0', '0.1', '0.30000000000000004', '1e22']),
  pool('FLOAT', ['3.4028234663852886e38', '0.1', '0', '16777216', '1e-45']),
  pool("ENUM('a','b,c','it''s','ü','')", quoted(['a', 'b,c', "it''s", 'ü', ''])),
  pool('YEAR', ['0', '1901', '2155', '2024']),
  pool('UUID', quoted(['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])),
  foreign('VARCHAR(20) CHARACTER SET cp1251', 'жук', 'ЖУК', 'ёж', 'A '),
  foreign('VARCHAR(20) CHARACTER SET utf16 COLLATE utf16_bin', '😀', '😀a', '￿', 'A '),
  pool('INET4', quoted(['0.0.0.0', '255.255.255.255', '10.0.0.1'])),
  pool('INET6', quoted(['::', '::ffff:10.0.0.1', '2001:db8::1']))
];
