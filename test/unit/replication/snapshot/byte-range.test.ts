import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerRange,
  firstByte,
  ifRangeHolds,
  noneMatchHits
} from '../../../../src/replication/snapshot/byte-range.ts';
import fc from '../../../support/fast-check.ts';

test('single ranges of a complete file', () => {
  const part = (start: number, end: number) => ({ kind: 'part', start, end });
  for (const [header, expected] of [
    ['bytes=0-9', part(0, 9)],
    ['bytes=5-', part(5, 99)],
    ['bytes=90-500', part(90, 99)],
    ['bytes=-10', part(90, 99)],
    ['bytes=-500', part(0, 99)],
    ['bytes=99-99', part(99, 99)],
    ['bytes=100-', { kind: 'unsatisfiable' }],
    ['bytes=-0', { kind: 'unsatisfiable' }],
    [undefined, { kind: 'whole' }],
    ['bytes=9-5', { kind: 'whole' }],
    ['bytes=0-1,5-6', { kind: 'whole' }],
    ['bytes=-', { kind: 'whole' }],
    ['lines=0-1', { kind: 'whole' }]
  ] as const)
    assert.deepEqual(answerRange(header, 100, true), expected, String(header));
});

test('a file that grows: what exists is served, and a suffix means the whole', () => {
  assert.deepEqual(answerRange('bytes=10-', 100, false), { kind: 'part', start: 10, end: 99 });
  assert.deepEqual(answerRange('bytes=-10', 100, false), { kind: 'whole' });
  assert.equal(firstByte('bytes=10-'), 10);
  assert.equal(firstByte('bytes=-10'), null);
  assert.equal(firstByte(undefined), null);
});

test('a part is never outside the file', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(200), fc.nat(150), fc.boolean(), (a, b, size, complete) => {
      for (const header of [`bytes=${a}-${b}`, `bytes=${a}-`, `bytes=-${b}`]) {
        const answer = answerRange(header, size, complete);
        if (answer.kind === 'part') assert.ok(0 <= answer.start && answer.start <= answer.end && answer.end < size);
      }
    })
  );
});

test('If-Range holds for the same strong tag only; If-None-Match compares weakly', () => {
  assert.equal(ifRangeHolds(undefined, '"a"'), true);
  assert.equal(ifRangeHolds('"a"', '"a"'), true);
  assert.equal(ifRangeHolds('W/"a"', '"a"'), false);
  assert.equal(ifRangeHolds('Wed, 21 Oct 2015 07:28:00 GMT', '"a"'), false);
  assert.equal(noneMatchHits(undefined, '"a"'), false);
  assert.equal(noneMatchHits('"b", W/"a"', '"a"'), true);
  assert.equal(noneMatchHits('*', '"a"'), true);
  assert.equal(noneMatchHits('"b"', '"a"'), false);
});
