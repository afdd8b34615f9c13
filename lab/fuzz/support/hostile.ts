import fc from 'fast-check';

/** Texts over which parsers stumble. */
export const ODD_TEXTS = [
  '',
  ' ',
  '\0',
  '\t',
  '\n',
  '\r\n',
  'a\nb',
  '\u0085',
  '\u00a0',
  '\u200b',
  '\u202e',
  '\u2028',
  '\u3000',
  '\ufeff',
  '\ufffd',
  '\ud800',
  '\udfff',
  '😀',
  'e\u0301',
  'İ',
  'ſ',
  'ß',
  '١٢',
  'Ω',
  '\x7f',
  '\x1b[2J',
  '%00',
  '%',
  '%zz',
  '..',
  '../../../test',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'null',
  'undefined',
  'NaN',
  "'",
  '"',
  '`',
  '\\',
  '/*',
  '*/',
  '--',
  '#',
  ';',
  ',',
  ':',
  '=',
  '&',
  '?',
  '*',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')'
] as const;

/** Numbers as texts, at the edges of what is exact, finite or a number at all. */
export const ODD_NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '00',
  '+1',
  '0.1',
  '1.0',
  '-0.0',
  '1e0',
  '1E+2',
  '1e-400',
  '1e400',
  '-1e400',
  '.5',
  '5.',
  '2147483648',
  '4294967296',
  '9007199254740991',
  '9007199254740993',
  '18446744073709551615',
  '18446744073709551616',
  '0x10',
  '1_000',
  'Infinity',
  '-Infinity',
  '1n',
  ' 1',
  '1 ',
  `1${'0'.repeat(400)}`,
  `0.${'0'.repeat(400)}1`
] as const;

const unit = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_TEXTS) }
);

/** Any text, half surrogates and control characters included; now and then a long one. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<string>(...ODD_TEXTS, ...ODD_NUMBERS) },
  { weight: 5, arbitrary: fc.string({ unit, maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(unit, fc.integer({ min: 1, max: 5_000 })).map(([part, times]) => part.repeat(times))
  }
);

/** JSON text that says what JSON.stringify never would: names twice, -0, 1e400, numbers beyond 2^53, deep nesting. */
export const hostileJson: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '{}', '[]', '""', '0', '1'),
    fc.constantFrom(...ODD_NUMBERS.filter((text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text))),
    hostileText.map((text) => JSON.stringify(text)),
    fc.integer({ min: 1, max: 3_000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
    fc.integer({ min: 1, max: 3_000 }).map((depth) => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`),
    fc.array(tie('value'), { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom('a', '__proto__', 'constructor'), hostileText), tie('value')), {
        maxLength: 4
      })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`)
  )
})).value;

/** Bytes or text after a few accidents: bits flipped, parts cut, doubled or put in, the end missing. */
export const mutated = (specimens: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(specimens, fc.array(accident, { maxLength: 4 }))
    .map(([bytes, accidents]) => accidents.reduce((made: Buffer, act) => act(made), Buffer.from(bytes)));

export const mutatedText = (specimens: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  mutated(specimens.map((text) => Buffer.from(text))).map((bytes) => bytes.toString('utf8'));

/** Place in a text, in ten-thousandths of its length. */
const place = fc.integer({ min: 0, max: 9_999 });
const count = fc.constantFrom(1, 1, 2, 3, 7, 20, 100);
const splice = (bytes: Buffer, where: number, cut: number, put: Uint8Array): Buffer => {
  const from = Math.floor((where / 10_000) * bytes.length);
  return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + cut)]);
};
const part = (bytes: Buffer, where: number, length: number): Buffer => {
  const from = Math.floor((where / 10_000) * bytes.length);
  return bytes.subarray(from, from + length);
};

const accident: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc.oneof(
  fc.tuple(place, fc.integer({ min: 0, max: 7 })).map(
    ([at, bit]) =>
      (bytes: Buffer) =>
        splice(
          bytes,
          at,
          1,
          part(bytes, at, 1).map((byte) => byte ^ (1 << bit))
        )
  ),
  fc.tuple(place, count).map(
    ([at, length]) =>
      (bytes: Buffer) =>
        splice(bytes, at, length, Buffer.alloc(0))
  ),
  fc.tuple(place, place, count).map(
    ([at, from, length]) =>
      (bytes: Buffer) =>
        splice(bytes, at, 0, part(bytes, from, length))
  ),
  fc.tuple(place, fc.constantFrom<string>(...ODD_TEXTS, ...ODD_NUMBERS)).map(
    ([at, text]) =>
      (bytes: Buffer) =>
        splice(bytes, at, 0, Buffer.from(text))
  ),
  fc.tuple(place, fc.constantFrom('ff', 'c3', 'e282', 'f09f98', 'eda080', 'c080')).map(
    ([at, hex]) =>
      (bytes: Buffer) =>
        splice(bytes, at, 0, Buffer.from(hex, 'hex'))
  ),
  place.map((at) => (bytes: Buffer) => splice(bytes, at, bytes.length, Buffer.alloc(0)))
);

/** A valid JSON value of which some parts are replaced, left out or named twice; else any JSON; else JSON that is damaged. */
export const jsonLike = (specimens: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(
          specimens,
          fc.array(fc.tuple(fc.nat(60), fc.oneof(hostileJson, fc.constantFrom(null, true))), { maxLength: 3 })
        )
        .map(([specimen, edits]) => printWith(specimen, new Map(edits)))
    },
    { weight: 1, arbitrary: hostileJson },
    { weight: 1, arbitrary: mutatedText(specimens.map((value) => JSON.stringify(value))) }
  );

/** @param edits by the number of a part, in the order of the text: what stands there instead; null: left out; true: named twice */
function printWith(specimen: unknown, edits: ReadonlyMap<number, string | true | null>): string {
  let count = -1;
  const print = (value: unknown, name = ''): string | null => {
    const edit = edits.get(++count);
    if (edit === null) return null;
    return name + (typeof edit === 'string' ? edit : edit ? `null,${name}${printValue(value)}` : printValue(value));
  };
  const printValue = (value: unknown): string => {
    if (Array.isArray(value)) return `[${joined(value.map((inner) => print(inner)))}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return `{${joined(Object.entries(value).map(([name, inner]) => print(inner, `${JSON.stringify(name)}:`)))}}`;
  };
  return print(specimen) ?? '';
}

const joined = (texts: readonly (string | null)[]): string => texts.filter((text) => text !== null).join(',');
