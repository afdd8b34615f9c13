import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../../../../src/db/within.ts';
import { commonSpans, mergeSpans, type Span, withoutSpans } from '../../../../src/replication/source/changes/spans.ts';
import fc from '../../../support/fast-check.ts';

const LAST = 40;
const span = fc.oneof(
  fc.tuple(fc.nat(LAST), fc.nat(LAST)).map(([a, b]): Span => [Math.min(a, b), Math.max(a, b)]),
  fc.constant(null)
);
const lists = fc.array(span, { maxLength: 12 });

/** The values of some spans, one by one. */
function valuesOf(spans: readonly Span[]): Set<number | null> {
  const all = [null, ...Array(LAST + 1).keys()];
  return new Set(all.filter((value) => spans.some((each) => isIn(value, each))));
}

const isIn = (value: number | null, each: Span) =>
  each === null || value === null ? each === value : value >= each[0] && value <= each[1];

test('property: what some spans have without others, in common with them, and a value within them, is as value by value', () => {
  fc.assert(
    fc.property(lists, lists, (spans, others) => {
      const [values, otherValues] = [valuesOf(spans), valuesOf(others)];
      assert.deepEqual(valuesOf(withoutSpans(spans, others)), values.difference(otherValues));
      assert.deepEqual(valuesOf(commonSpans(spans, others)), values.intersection(otherValues));
      assert.deepEqual(withoutSpans(spans, others), mergeSpans(withoutSpans(spans, others)));
      const isWithin = within(spans);
      for (const value of [null, ...Array(LAST + 1).keys()]) assert.equal(isWithin(value), values.has(value));
    })
  );
});

test('the common parts of two lists of a hundred thousand spans are found at once', { timeout: 5_000 }, () => {
  const spans = Array.from({ length: 100_000 }, (_, at): Span => [2 * at, 2 * at]);
  assert.equal(commonSpans(spans, spans).length, 100_000);
});
