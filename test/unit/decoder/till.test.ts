import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DueQueue } from '../../../src/decoder/due-queue.ts';
import { Till } from '../../../src/decoder/till.ts';
import fc from '../../support/fast-check.ts';

const key = fc.nat(12).map(String);
const step = fc.oneof(
  fc.record({ key, least: fc.nat(20).map(BigInt) }),
  fc.record({ key, least: fc.constant(undefined) })
);

test('the oldest dispenser that takes an amount is found as by looking at each', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const till = new Till();
      const leasts = new Map<string, bigint>();
      for (const { key: name, least } of steps) {
        if (least === undefined) {
          till.delete(name);
          leasts.delete(name);
        } else {
          till.set(name, least);
          leasts.set(name, least);
        }
        for (const amount of [0n, 5n, 11n, 20n]) {
          const [expected] = [...leasts].find(([, asked]) => asked <= amount) ?? [];
          assert.equal(till.oldestFor(amount), expected);
        }
        assert.equal(till.isEmpty, leasts.size === 0);
      }
    })
  );
});

test('keys come out when they are due, the earliest first', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 80 }), fc.nat(50), (dues, time) => {
      const queue = new DueQueue();
      for (const [at, due] of dues.entries()) queue.add(due, String(at));
      const sorted = (from: readonly number[]) => from.toSorted((a, b) => a - b);
      const early = [...queue.take(time)].map((name) => dues[Number(name)]!);
      assert.deepEqual(early, sorted(dues.filter((due) => due <= time)));
      const rest = [...queue.take(Number.POSITIVE_INFINITY)].map((name) => dues[Number(name)]!);
      assert.deepEqual(rest, sorted(dues.filter((due) => due > time)));
    })
  );
});
