import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../../src/coin/chains.ts';
import { addressOf, scriptOf } from '../../../../src/coin/script/address.ts';
import { payTo } from '../../../../src/coin/script/pay-scripts.ts';
import { markOf } from '../../../../src/coin/script/script-marks.ts';
import { SortedMarks } from '../../../../src/coin/script/sorted-marks.ts';
import { marksOf, PaymentMarks } from '../../../../src/decoder/dispensers/payment-marks.ts';
import fc from '../../../support/fast-check.ts';

const { addresses: versions } = chainNetwork('litecoin', 'regtest');
const addressAt = (at: number) => {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt32LE(at);
  return addressOf(payTo({ kind: 'witnessKeyHash', bytes }), versions)!;
};
const markAt = (at: number) => markOf(scriptOf(addressAt(at), versions)!);
const ascending = (marks: Iterable<number>) => [...new Set(marks)].sort((a, b) => a - b);

test('marks with changes, and marks that others lack, are those of sets', () => {
  const marks = fc.uniqueArray(fc.oneof(fc.nat({ max: 20 }), fc.integer({ min: 0, max: 2 ** 32 - 1 })));
  fc.assert(
    fc.property(marks, marks, marks, (before, added, removed) => {
      const sorted = new SortedMarks(Uint32Array.from(ascending(before)));
      const changes = new Map([
        ...added.map((mark) => [mark, true] as const),
        ...removed.map((mark) => [mark, false] as const)
      ]);
      const expected = new Set([...before, ...added].filter((mark) => !removed.includes(mark)));
      const changed = sorted.with(changes);
      assert.deepEqual([...changed.marks], ascending(expected));
      assert.deepEqual(changed.without(sorted), expected.difference(new Set(before)));
      for (const mark of [...before, ...added, ...removed]) assert.equal(changed.has(mark), expected.has(mark));
    })
  );
});

test('the marks of addresses are theirs, however often and in which order they came and went', () => {
  const addresses = fc.array(fc.nat({ max: 30 }), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(fc.tuple(addresses, addresses), { minLength: 1 }), (calls) => {
      const marks = new PaymentMarks(versions);
      const kept: number[] = [];
      for (const [added, removed] of calls) {
        marks.change(added.map(addressAt), 1);
        kept.push(...added);
        const gone = removed.filter((at) => {
          const place = kept.indexOf(at);
          if (place >= 0) kept.splice(place, 1);
          return place >= 0;
        });
        marks.change(gone.map(addressAt), -1);
        const { sorted } = marks;
        assert.deepEqual([...sorted.marks], ascending(kept.map(markAt)));
        marks.change(kept.map(addressAt), 1);
        marks.change(kept.map(addressAt), -1);
        assert.equal(marks.sorted, sorted, 'the same object');
      }
    })
  );
});

test('an address of another chain has no mark', () => {
  assert.deepEqual(marksOf(['nobody', addressAt(1)], versions), [markAt(1)]);
});
