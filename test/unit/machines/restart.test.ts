import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restartMachine } from '../../../machines/runtime/restart.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const INPUT = { baseDelayMs: 200, maxDelayMs: 1_000, budget: 3, windowMs: 60_000 };
const died = (at: number, jitter = 0.999999) => ({ type: 'actor.died', at, jitter }) as const;

test('pauses twice as long after each death in the window, up to the longest', () => {
  const { actor, clock, state } = onSimulatedClock(restartMachine, { ...INPUT, budget: 10 });
  const pauses: number[] = [];
  for (let death = 0; death < 5; death++) {
    actor.send(died(death));
    pauses.push(actor.getSnapshot().context.delayMs);
    clock.increment(pauses.at(-1)! - 1);
    assert.equal(state(), 'backoff');
    clock.increment(1);
    assert.equal(state(), 'running');
  }
  assert.deepEqual(pauses, [200, 400, 800, 1_000, 1_000]);
});

test('a spent budget is failed until an operator restarts it with a full budget', () => {
  const { actor, clock, state } = onSimulatedClock(restartMachine, INPUT);
  for (const at of [0, 1, 2]) {
    actor.send(died(at));
    clock.increment(1_000);
  }
  actor.send(died(3));
  assert.equal(state(), 'failed');
  clock.increment(3_600_000);
  assert.equal(state(), 'failed');
  actor.send({ type: 'operator.restarted' });
  assert.equal(state(), 'running');
  actor.send(died(4));
  assert.equal(state(), 'backoff');
  assert.equal(actor.getSnapshot().context.delayMs, 200);
});

test('deaths that left the window no longer count', () => {
  const { actor, clock, state } = onSimulatedClock(restartMachine, INPUT);
  for (const at of [0, 1, 2, 60_001, 60_002]) {
    actor.send(died(at));
    assert.equal(state(), 'backoff', `at ${at}`);
    clock.increment(1_000);
  }
});

test('fails exactly when more deaths than the budget lie in one window; the pause stays within its bounds', () => {
  const death = fc.record({
    gap: fc.integer({ min: 0, max: 40_000 }),
    jitter: fc.double({ min: 0, max: 0.999, noNaN: true })
  });
  fc.assert(
    fc.property(fc.array(death, { maxLength: 12 }), (deaths) => {
      const { actor, clock, state } = onSimulatedClock(restartMachine, INPUT);
      const times: number[] = [];
      let at = 0;
      for (const { gap, jitter } of deaths) {
        at += gap;
        times.push(at);
        actor.send(died(at, jitter));
        const inWindow = times.filter((time) => time > at - INPUT.windowMs).length;
        assert.equal(state(), inWindow > INPUT.budget ? 'failed' : 'backoff');
        if (state() === 'failed') return;
        const { delayMs } = actor.getSnapshot().context;
        assert.ok(delayMs >= INPUT.baseDelayMs / 2 && delayMs <= INPUT.maxDelayMs);
        clock.increment(delayMs);
      }
    })
  );
});

test('every state is reached', () => {
  const events = [died(0), { type: 'operator.restarted' }] as const;
  assert.deepEqual(reachedStates(restartMachine, INPUT, events), everyState(restartMachine));
});
