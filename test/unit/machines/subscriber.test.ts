import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearLimit, subscriberMachine } from '../../../machines/sync/subscriber.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const INPUT = { maxBytes: 1_000, stallMs: 30_000 };
const measured = (waitingBytes: number, takenBytes: number, at: number) =>
  ({ type: 'buffer.measured', waitingBytes, takenBytes, at }) as const;

test('is dropped with the bytes named as soon as what waits exceeds the ceiling', () => {
  const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
  actor.send(measured(1_000, 0, 0));
  assert.equal(state(), 'draining');
  actor.send(measured(1_001, 0, 1));
  assert.equal(state(), 'dropped');
  assert.equal(actor.getSnapshot().context.reason, 'Backpressure: buffer ceiling exceeded (1001 bytes)');
});

test('is dropped when nothing is taken for the stall window; any byte taken starts the window anew', () => {
  const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
  actor.send(measured(500, 0, 0));
  actor.send(measured(600, 0, 29_999));
  assert.equal(state(), 'stalled');
  actor.send(measured(999, 1, 29_999));
  assert.equal(state(), 'draining');
  actor.send(measured(999, 1, 59_998));
  assert.equal(state(), 'stalled');
  actor.send(measured(999, 1, 59_999));
  assert.equal(state(), 'dropped');
  assert.equal(actor.getSnapshot().context.reason, 'Backpressure: send buffer not draining for 30000ms');
});

test('an empty buffer is never stalled', () => {
  const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
  actor.send(measured(0, 0, 0));
  actor.send(measured(0, 0, 1e9));
  actor.send(measured(10, 0, 2e9));
  assert.equal(state(), 'draining');
});

test('the limit that is nearer is named from half of it on', () => {
  const near = (waitingBytes: number, progressAt: number, at: number) =>
    nearLimit({ ...INPUT, waitingBytes, progressAt }, at);
  assert.equal(near(499, 0, 14_999), null);
  assert.deepEqual(near(500, 0, 14_999), { limit: 'ceiling', percent: 50 });
  assert.deepEqual(near(500, 0, 27_000), { limit: 'stall', percent: 90 });
  assert.deepEqual(near(950, 0, 27_000), { limit: 'ceiling', percent: 95 });
  assert.equal(near(0, 0, 1e9), null, 'an empty buffer is near none, however long nothing was taken');
});

test('is dropped exactly when a plain reading of the rules says so', () => {
  const step = fc.record({
    bytes: fc.integer({ min: 0, max: 1_100 }),
    more: fc.integer({ min: 0, max: 1 }),
    gap: fc.integer({ min: 0, max: 20_000 })
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
      let at = 0;
      let taken = 0;
      let last = 0;
      let since = 0;
      let dropped = false;
      for (const { bytes, more, gap } of steps) {
        at += gap;
        taken += more;
        actor.send(measured(bytes, taken, at));
        if (last === 0 || more > 0) since = at;
        dropped ||= bytes > INPUT.maxBytes || (bytes > 0 && at - since >= INPUT.stallMs);
        last = bytes;
        assert.equal(state() === 'dropped', dropped);
      }
    })
  );
});

test('every state is reached', () => {
  const events = [measured(10, 0, 1), measured(2_000, 0, 2)];
  assert.deepEqual(reachedStates(subscriberMachine, INPUT, events), everyState(subscriberMachine));
});
