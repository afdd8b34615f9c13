import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf, scriptOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { markOf } from '../../../src/coin/script/script-marks.ts';
import { SortedMarks } from '../../../src/coin/script/sorted-marks.ts';
import { PaymentMarks } from '../../../src/decoder/payment-marks.ts';
import fc from '../../support/fast-check.ts';

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

test('the marks of addresses are theirs, whatever came, went or changed its place', () => {
  const addresses = fc.array(fc.nat({ max: 30 }), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(addresses, { minLength: 1 }), addresses, (calls, more) => {
      const marks = new PaymentMarks(versions);
      for (const call of calls) {
        const found = marks.of(call.map(addressAt));
        assert.deepEqual([...found.marks], ascending(call.map(markAt)));
        assert.equal(marks.of(call.map(addressAt)), found, 'the same object');
        assert.deepEqual([...marks.ofMore(more.map(addressAt)).marks], ascending([...call, ...more].map(markAt)));
      }
    })
  );
});

test('an address more, or one less, reads no other address again, however many are watched', () => {
  let read = 0;
  const watched = new Proxy(versions, {
    get: (from, name) => {
      read += 1;
      return Reflect.get(from, name);
    }
  });
  const all = Array.from({ length: 5_000 }, (_, at) => addressAt(at));
  const marks = new PaymentMarks(watched);
  marks.of(all.slice(0, 1));
  const readByOne = read;
  marks.of(all);
  read = 0;
  assert.ok(marks.of([...all.slice(1), addressAt(all.length)]).has(markAt(all.length)));
  assert.ok(!marks.of(all.slice(1)).has(markAt(0)));
  assert.ok(read <= 3 * readByOne, `${read} reads, ${readByOne} for one address`);
});
