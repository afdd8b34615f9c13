import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Till } from '../../../../src/decoder/dispensers/till.ts';
import fc from '../../../support/fast-check.ts';

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
      }
    })
  );
});
