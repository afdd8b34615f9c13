import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../../src/wire/json.ts';
import fc from '../../support/fast-check.ts';

const parse = (text: string) => parseJson(Buffer.from(text));

test('JSON nested to 100 is read, deeper JSON is refused before it is read', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}']
  ] as const) {
    assert.ok(parse(`${open.repeat(100)}1${close.repeat(100)}`));
    assert.throws(() => parse(`${open.repeat(101)}1${close.repeat(101)}`), /nested deeper than 100/);
  }
  assert.throws(() => parseJson(Buffer.alloc(64 * 2 ** 20, '['), () => assert.fail('read')), /nested deeper/);
});

test('brackets within texts, behind any escape, are no nesting', () => {
  const text = `{"a\\"[[": "${'['.repeat(500)}\\\\", "b": "\\\\\\"${'{'.repeat(500)}"}`;
  assert.deepEqual(parse(text), JSON.parse(text));
});

test('values that would take more memory than any message of the contract are refused before they are parsed', () => {
  const filled = (values: string) => Buffer.concat([Buffer.from('['), Buffer.alloc(48 * 2 ** 20, values)]);
  const unread = () => assert.fail('read');
  for (const values of ['{},', '[],'])
    assert.throws(() => parseJson(filled(values), unread), /too many values/, values);
  for (const values of ['1,', '"{}[]",'])
    assert.equal(
      parseJson(filled(values), () => 'read'),
      'read',
      values
    );
});

test('bytes that are no UTF-8 are refused', () => {
  assert.throws(() => parseJson(Buffer.from('"\xff"', 'latin1')), /no UTF-8/);
});

test('property: what is no deeper than that reads as JSON.parse reads it', () => {
  fc.assert(fc.property(fc.json(), (text) => assert.deepEqual(parse(text), JSON.parse(text))));
});
