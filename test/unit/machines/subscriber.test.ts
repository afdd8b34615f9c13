import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subscriberMachine } from '../../../machines/subscriber.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const INPUT = { maxBytes: 1_000, stallMs: 30_000 };
const measured = (bufferedBytes: number, at: number) => ({ type: 'buffer.measured', bufferedBytes, at }) as const;

test('is dropped with the bytes named as soon as its buffer exceeds the ceiling', () => {
  const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
  actor.send(measured(1_000, 0));
  assert.equal(state(), 'draining');
  actor.send(measured(1_001, 1));
  assert.equal(state(), 'dropped');
  assert.equal(actor.getSnapshot().context.reason, 'Backpressure: buffer ceiling exceeded (1001 bytes)');
});

test('is dropped when its buffer does not shrink for the stall window; any drop starts the window anew', () => {
  const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
  actor.send(measured(500, 0));
  actor.send(measured(600, 29_999));
  assert.equal(state(), 'stalled');
  actor.send(measured(599, 29_999));
  assert.equal(state(), 'draining');
  actor.send(measured(599, 59_998));
  assert.equal(state(), 'stalled');
  actor.send(measured(599, 59_999));
  assert.equal(state(), 'dropped');
  assert.equal(actor.getSnapshot().context.reason, 'Backpressure: send buffer not draining for 30000ms');
});

test('an empty buffer is never stalled', () => {
  const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
  actor.send(measured(0, 0));
  actor.send(measured(0, 1e9));
  actor.send(measured(10, 2e9));
  assert.equal(state(), 'draining');
});

test('is dropped exactly when a plain reading of the rules says so', () => {
  const step = fc.record({ bytes: fc.integer({ min: 0, max: 1_100 }), gap: fc.integer({ min: 0, max: 20_000 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { actor, state } = onSimulatedClock(subscriberMachine, INPUT);
      let at = 0;
      let last = 0;
      let since = 0;
      let dropped = false;
      for (const { bytes, gap } of steps) {
        at += gap;
        actor.send(measured(bytes, at));
        if (last === 0 || bytes < last) since = at;
        dropped ||= bytes > INPUT.maxBytes || (bytes > 0 && at - since >= INPUT.stallMs);
        last = bytes;
        assert.equal(state() === 'dropped', dropped);
      }
    })
  );
});

test('every state is reached', () => {
  const events = [measured(10, 1), measured(2_000, 2)];
  assert.deepEqual(reachedStates(subscriberMachine, INPUT, events), everyState(subscriberMachine));
});
