import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromPromise } from 'xstate';
import { type BalanceTreeEvent, balanceTreeMachine, type TreeRefusal } from '../../../machines/sync/balance-tree.ts';
import { PlatformError } from '../../../src/errors.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const input = { retryMs: 30_000, refusalMs: 600_000 };
const REFUSALS: readonly TreeRefusal[] = ['failed', 'unsupported', 'off'];
const requested: BalanceTreeEvent = { type: 'build.requested', height: 7 };
const discarded: BalanceTreeEvent = { type: 'tree.discarded' };
const refused = (refusal: TreeRefusal): BalanceTreeEvent => ({ type: 'tree.refused', refusal, reason: refusal });
const EVENTS = [requested, discarded, ...REFUSALS.map(refused)];
const turn = () => new Promise(setImmediate);

/** The chart on a clock of its own. @param build the effect */
const start = (build: () => Promise<void>) =>
  onSimulatedClock(balanceTreeMachine.provide({ actors: { build: fromPromise<void, void>(build) } }), input);

test('every state is reached', () => {
  const done = { type: 'xstate.done.actor.build', output: undefined };
  const failed = { type: 'xstate.error.actor.build', error: new PlatformError('INTERNAL', {}) };
  const events = [...EVENTS, done, failed] as BalanceTreeEvent[];
  assert.deepEqual(reachedStates(balanceTreeMachine, input, events), everyState(balanceTreeMachine));
});

test('a tree that is built is followed until it is discarded, and then another one is due', async () => {
  const { actor, state } = start(() => Promise.resolve());
  assert.equal(state(), 'waiting.due');
  actor.send(requested);
  assert.equal(state(), 'building');
  await turn();
  assert.equal(state(), 'ready');
  actor.send(discarded);
  assert.equal(state(), 'waiting.due');
});

test('a build that failed is due again after the pause', async () => {
  const { actor, clock, state } = start(() => Promise.reject(new Error('cut')));
  actor.send(requested);
  await turn();
  assert.equal(state(), 'waiting.resting');
  clock.increment(29_999);
  assert.equal(state(), 'waiting.resting');
  clock.increment(1);
  assert.equal(state(), 'waiting.due');
});

test('STATE_UNENCODABLE: the reason stays until another build begins', async () => {
  const { actor, clock, state } = start(() =>
    Promise.reject(new PlatformError('STATE_UNENCODABLE', { reason: 'a name is too long' }))
  );
  actor.send(requested);
  await turn();
  assert.equal(state(), 'failed.resting');
  clock.increment(600_000);
  assert.equal(state(), 'failed.due');
  assert.match(actor.getSnapshot().context.reason!, /a name is too long/);
  actor.send(requested);
  assert.equal(actor.getSnapshot().context.reason, null);
});

test('property: a reason stands exactly in the states that are refusals, and a build is never due where groups are followed', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS, 'pause' as const)), (steps) => {
      const { actor, clock, state } = start(() => new Promise(() => undefined));
      for (const step of steps) {
        if (step === 'pause') clock.increment(600_000);
        else actor.send(step);
        const snapshot = actor.getSnapshot();
        const refusal = REFUSALS.find((each) => state().startsWith(each)) ?? null;
        assert.equal(snapshot.context.reason, refusal);
        assert.ok(!(snapshot.hasTag('due') && snapshot.hasTag('following')));
      }
    })
  );
});
