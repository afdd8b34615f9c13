import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shapeOfJson } from '../../../src/service/schema/json-shape.ts';
import fc from '../../support/fast-check.ts';

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return 1 + Object.values(value).reduce<number>((sum, each) => sum + countOf(each), 0);
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('property: as many values as there are, as deep as they are, and no number beyond 2^53 is missed', () => {
  const number = (value: unknown) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), (text) => {
      let isLong = false;
      const value: unknown = JSON.parse(text, (_, each) => {
        isLong ||= number(each);
        return each as unknown;
      });
      const { values, depth, hasLongNumber } = shapeOfJson(text);
      assert.equal(depth, depthOf(value));
      assert.ok(values + 1 >= countOf(value), `${values} of ${countOf(value)}`);
      assert.ok(hasLongNumber || !isLong);
    })
  );
});

test('numbers that a double does not hold, and texts that look like them', () => {
  for (const text of ['12345678901234567', '[1e3]', '{"a":-9007199254740993}', '1E+20', '[1.5e300]'])
    assert.ok(shapeOfJson(text).hasLongNumber, text);
  for (const text of ['"12345678901234567"', '[true,false]', '{"1e5":999999999999999}', '"\\"1e5"', '0.5', '"1e'])
    assert.ok(!shapeOfJson(text).hasLongNumber, text);
  assert.deepEqual(shapeOfJson('["[,{", "\\\\", {"a": [1, 2]}]'), { values: 6, depth: 3, hasLongNumber: false });
});
