import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heartbeatMachine } from '../../../machines/sync/heartbeat.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const INPUT = { ttlMs: 60_000 };
const beat = (appliedHeight: number, at = 0) =>
  ({ type: 'heartbeat.received', appliedHeight, appliedBlockTime: null, at }) as const;

test('is listed with its latest figures until the lifetime after the last heartbeat is over', () => {
  const { actor, clock, state } = onSimulatedClock(heartbeatMachine, INPUT);
  const listed = () => actor.getSnapshot().hasTag('listed');
  assert.equal(listed(), false);
  actor.send(beat(5, 1_000));
  clock.increment(59_999);
  actor.send(beat(9, 60_999));
  clock.increment(59_999);
  assert.equal(listed(), true);
  assert.deepEqual(actor.getSnapshot().context.last, { appliedHeight: 9, appliedBlockTime: null, at: 60_999 });
  clock.increment(1);
  assert.equal(state(), 'evicted');
  assert.equal(listed(), false);
});

test('is listed exactly while no pause between heartbeats reaches the lifetime', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 120_000 }), { minLength: 1, maxLength: 10 }), (pauses) => {
      const { actor, clock } = onSimulatedClock(heartbeatMachine, INPUT);
      for (const pause of pauses) {
        actor.send(beat(1));
        clock.increment(pause);
      }
      assert.equal(actor.getSnapshot().hasTag('listed'), Math.max(...pauses) < INPUT.ttlMs);
    })
  );
});

test('every state is reached', () => {
  assert.deepEqual(reachedStates(heartbeatMachine, INPUT, [beat(1)]), everyState(heartbeatMachine));
});
