import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactBody } from '../../../src/service/rpc/exact-body.ts';
import { shapeOfJson } from '../../../src/service/schema/json-shape.ts';
import fc from '../../support/fast-check.ts';

const read = (text: string) => parseExactBody(text, shapeOfJson(text));

/** Reads as the language does, value by value. */
function readSlowly(text: string): unknown {
  const json = JSON as unknown as {
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
    rawJSON(text: string): unknown;
  };
  return json.parse(text, (_, value, { source }) =>
    source !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value) ? json.rawJSON(source) : value
  );
}

const outcome = (work: () => unknown) => {
  try {
    return JSON.stringify(work());
  } catch (caught) {
    assert.ok(caught instanceof SyntaxError);
    return 'no JSON';
  }
};

test('property: a body is what the language reads, with whole numbers beyond 2^53 digit for digit; what is no JSON is none', () => {
  const [large, small] = ['12345678901234567890', '9007199254740991'];
  const numbers = [
    large,
    `-${large}`,
    `${large}.0`,
    '1e20',
    '1E+2',
    '1e400',
    small,
    '9007199254740992',
    `0${large}`,
    '-'
  ];
  const pieces = fc.constantFrom(
    ...numbers,
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    ' ',
    '\n',
    'true',
    'null',
    'tru',
    '.5',
    '"a"',
    '"__proto__":',
    `"${large}"`,
    '"\\"',
    '"\\\\"',
    `"\\"${large}`,
    '"'
  );
  const near = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(''));
  const whole = fc
    .json({ maxDepth: 3 })
    .chain((text) =>
      fc.constantFrom(...numbers).map((number) => `{"a":[${number},${text}],"__proto__":${number},"b":${text}}`)
    );
  fc.assert(
    fc.property(fc.oneof(near, whole), (text) =>
      assert.equal(
        outcome(() => read(text)),
        outcome(() => readSlowly(text)),
        text
      )
    ),
    { numRuns: 3_000 }
  );
});

test('a body may have a thousand numbers beyond 2^53, and one of any length', () => {
  const many = (count: number) => `[${Array(count).fill('12345678901234567890').join(',')}]`;
  assert.equal(JSON.stringify(read(many(1_000))), many(1_000));
  assert.throws(() => read(many(1_001)), { name: 'SyntaxError', message: /more than 1000 numbers beyond 2\^53/ });
  assert.equal(JSON.stringify(read(`[${'7'.repeat(300)}]`)), `[${'7'.repeat(300)}]`);
  assert.throws(() => read(`[${'9'.repeat(3_000_000)}e]`), SyntaxError);
});
