import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envelopeOf } from '../../../src/wire/envelope.ts';
import fc from '../../support/fast-check.ts';

const HEAD_BYTES = 64 * 1024;
const read = (text: string): unknown => JSON.parse(envelopeOf(Buffer.from(text)));
const isPlain = (value: unknown) => value === null || typeof value !== 'object';

test('property: the plain members of an object, wherever they stand, and none that is nested', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 3), (object, spaces) => {
      const text = JSON.stringify(object, null, spaces);
      fc.pre(text.length * 3 < HEAD_BYTES);
      const plain = Object.entries(JSON.parse(text) as object).filter(([, value]) => isPlain(value));
      assert.deepEqual(Object.entries(read(text) as object), plain);
    })
  );
});

test('a message that goes on is read as far as its last whole member, and no further than its first bytes', () => {
  const head = '{"type":"block","block_index":7,"data":{"a":[';
  assert.deepEqual(read(`${head}${'{},'.repeat(HEAD_BYTES)}{}]},"late":1}`), { type: 'block', block_index: 7 });
  assert.deepEqual(read('{"type":"block","block_index":7'), { type: 'block' });
  assert.deepEqual(read(`{"a":1,"b":"${'x'.repeat(HEAD_BYTES)}"}`), { a: 1 });
});

test('a text that is no object makes none, and only JSON.parse judges what is in it', () => {
  for (const text of ['', '[1,2]', '"a"', 'x', '{"a":}', '{"a":1,,"b":2', '}{', '{"a" 1}', '7']) {
    let found: unknown;
    try {
      found = read(text);
    } catch (caught) {
      assert.ok(caught instanceof SyntaxError, text);
      continue;
    }
    assert.ok(typeof found === 'object', text);
  }
});
