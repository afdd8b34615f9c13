import assert from 'node:assert/strict';
import { test } from 'node:test';
import { circuitBreakerMachine } from '../../../machines/runtime/circuit-breaker.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const INPUT = { failureThreshold: 3, cooldownMs: 30_000, trialTimeoutMs: 5_000 };
const EVENTS = [
  ...([{ type: 'call.started' }, { type: 'call.succeeded' }] as const),
  ...([{ type: 'call.failed' }, { type: 'call.unasked' }] as const)
];

test('opens on the third consecutive failure, lets one trial through, and closes', () => {
  const { actor, clock, state } = onSimulatedClock(circuitBreakerMachine, INPUT);
  const refuses = () => actor.getSnapshot().hasTag('refuse');
  actor.send({ type: 'call.failed' });
  actor.send({ type: 'call.failed' });
  actor.send({ type: 'call.succeeded' });
  actor.send({ type: 'call.failed' });
  actor.send({ type: 'call.failed' });
  assert.equal(refuses(), false);
  actor.send({ type: 'call.failed' });
  assert.equal(refuses(), true);
  clock.increment(29_999);
  assert.equal(state(), 'open');
  clock.increment(1);
  assert.equal(refuses(), false);
  actor.send({ type: 'call.started' });
  assert.equal(refuses(), true, 'a second probe is refused');
  actor.send({ type: 'call.succeeded' });
  assert.equal(state(), 'closed');
});

test('a trial that fails or never ends opens it again', () => {
  const { actor, clock, state } = onSimulatedClock(circuitBreakerMachine, { ...INPUT, failureThreshold: 1 });
  actor.send({ type: 'call.failed' });
  clock.increment(30_000);
  actor.send({ type: 'call.started' });
  actor.send({ type: 'call.failed' });
  assert.equal(state(), 'open');
  clock.increment(30_000);
  actor.send({ type: 'call.started' });
  clock.increment(5_000);
  assert.equal(state(), 'open');
});

test('a call that was not asked says nothing: failures before it count on, and the next call is the trial', () => {
  const { actor, clock, state } = onSimulatedClock(circuitBreakerMachine, { ...INPUT, failureThreshold: 2 });
  for (let n = 0; n < 10; n++) actor.send({ type: 'call.unasked' });
  actor.send({ type: 'call.failed' });
  actor.send({ type: 'call.unasked' });
  assert.equal(state(), 'closed');
  actor.send({ type: 'call.failed' });
  assert.equal(state(), 'open');
  clock.increment(30_000);
  actor.send({ type: 'call.started' });
  actor.send({ type: 'call.unasked' });
  assert.equal(state(), 'halfOpen');
});

test('with the clock stopped it refuses exactly when the worst streak of failures reached the threshold', () => {
  const outcome = fc.constantFrom<'call.succeeded' | 'call.failed'>('call.succeeded', 'call.failed');
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 40 }), fc.integer({ min: 1, max: 6 }), (outcomes, failureThreshold) => {
      const { actor } = onSimulatedClock(circuitBreakerMachine, { ...INPUT, failureThreshold });
      let streak = 0;
      let worst = 0;
      for (const type of outcomes) {
        actor.send({ type });
        streak = type === 'call.failed' ? streak + 1 : 0;
        worst = Math.max(worst, streak);
      }
      assert.equal(actor.getSnapshot().hasTag('refuse'), worst >= failureThreshold);
    })
  );
});

test('every state is reached', () => {
  assert.deepEqual(reachedStates(circuitBreakerMachine, INPUT, EVENTS), everyState(circuitBreakerMachine));
});
