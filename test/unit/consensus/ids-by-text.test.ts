import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdsByText } from '../../../src/consensus/ids-by-text.ts';
import fc from '../../support/fast-check.ts';

const key = fc.oneof(fc.nat(40).map(String), fc.string({ maxLength: 250 }));
const id = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constantFrom(1, 2 ** 31, 2 ** 32 - 1));

test('texts have the ids that a map would give them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(key, id)), fc.array(key), (entries, others) => {
      const [ids, expected] = [new IdsByText(), new Map<string, number>()];
      for (const [name, number] of entries) {
        ids.set(name, number);
        expected.set(name, number);
        assert.equal(ids.get(name), number);
        assert.equal(ids.size, expected.size);
      }
      for (const name of [...expected.keys(), ...others]) {
        assert.equal(ids.get(name), expected.get(name));
        assert.equal(ids.has(name), expected.has(name));
      }
    })
  );
});

test('very many texts, however long, are outside the heap and found as before', () => {
  const ids = new IdsByText();
  const count = 60_000;
  const nameOf = (at: number) => `${at}`.padStart(250, 'toka.');
  for (let at = 1; at <= count; at++) ids.set(nameOf(at), at);
  assert.equal(ids.size, count);
  for (let at = 1; at <= count; at++) assert.equal(ids.get(nameOf(at)), at);
  assert.equal(ids.get(nameOf(count + 1)), undefined);
});

test('an id that has no place beside a digest is refused', () => {
  const ids = new IdsByText();
  for (const bad of [0, -1, 1.5, 2 ** 32, Number.NaN]) assert.throws(() => ids.set('toka', bad), RangeError);
  assert.equal(ids.size, 0);
});
