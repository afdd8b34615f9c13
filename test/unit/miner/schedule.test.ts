import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookAt, NOBODY_WAITS, nextBlockAt, type Waiting } from '../../../src/miner/schedule.ts';
import fc from '../../support/fast-check.ts';

const TIMES = { firstMs: 30_000, addedMs: 5_000, idleMs: 0 };

test('the first payment waits 30 s, each further one adds 5 s, and mined ones none', () => {
  let waiting = lookAt(NOBODY_WAITS, 0, 0);
  assert.equal(nextBlockAt(waiting, TIMES, 0), null);
  waiting = lookAt(waiting, 1, 1_000);
  assert.equal(nextBlockAt(waiting, TIMES, 0), 31_000);
  waiting = lookAt(waiting, 3, 2_000);
  assert.equal(nextBlockAt(waiting, TIMES, 0), 41_000);
  waiting = lookAt(lookAt(waiting, 2, 3_000), 2, 4_000);
  assert.equal(nextBlockAt(waiting, TIMES, 0), 41_000);
  assert.deepEqual(lookAt(waiting, 0, 5_000), NOBODY_WAITS);
});

test('idle blocks come after their interval, and carry payments that would wait longer', () => {
  const times = { ...TIMES, idleMs: 1_000 };
  assert.equal(nextBlockAt(NOBODY_WAITS, times, 500), 1_500);
  assert.equal(nextBlockAt(lookAt(NOBODY_WAITS, 1, 600), times, 500), 1_500);
});

test('no payment waits longer than an hour, whatever arrives after it', () => {
  const sizes = fc.array(fc.nat(100_000), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(sizes, (seen) => {
      let waiting: Waiting = NOBODY_WAITS;
      for (const [now, size] of seen.entries()) {
        waiting = lookAt(waiting, size, now);
        const at = nextBlockAt(waiting, TIMES, 0);
        assert.equal(at === null, size === 0);
        if (at !== null) assert.ok(at >= waiting.since! + TIMES.firstMs && at <= waiting.since! + 3_600_000);
      }
    })
  );
});
