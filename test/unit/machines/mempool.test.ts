import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MempoolEvent, mempoolMachine } from '../../../machines/follower/mempool.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const input = { restMs: 60_000 };
const synced: MempoolEvent = { type: 'lag.changed', isSynced: true };
const behind: MempoolEvent = { type: 'lag.changed', isSynced: false };
/** Returns the end of a state's effect, as XState tells it. @param output transactions that wait for a batch */
const ends = (state: string, output?: number) => ({ type: `xstate.done.actor.0.mempool.${state}`, output });
const fails = (state: string) => ({
  type: `xstate.error.actor.0.mempool.${state}`,
  error: new Error('the node is away')
});
const EVENTS = [
  synced,
  behind,
  ends('listing', 2_000),
  ends('listing', 0),
  ends('fetching'),
  ends('storing', 1_000),
  ends('storing', 0),
  fails('listing'),
  fails('fetching'),
  fails('storing'),
  { type: 'stop.requested' }
] as MempoolEvent[];

test('every state is reached', () => {
  assert.deepEqual(reachedStates(mempoolMachine, input, EVENTS), everyState(mempoolMachine));
});

test('a pass takes one batch after another, and the next one begins a minute later', () => {
  const { actor, clock, state } = onSimulatedClock(mempoolMachine, input);
  assert.equal(state(), 'paused');
  const steps = [synced, EVENTS[2], EVENTS[4], EVENTS[5], EVENTS[4], EVENTS[6]] as MempoolEvent[];
  const seen = steps.map((event) => {
    actor.send(event);
    return state();
  });
  assert.deepEqual(seen, ['listing', 'fetching', 'storing', 'fetching', 'storing', 'resting']);
  clock.increment(59_999);
  assert.equal(state(), 'resting');
  clock.increment(1);
  assert.equal(state(), 'listing');
});

test('property: behind the tip it is paused whatever came before, and a stopped one stays so', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...EVENTS.filter(({ type }) => !type.startsWith('xstate.error')))),
      (events) => {
        const { actor, state } = onSimulatedClock(mempoolMachine, input);
        for (const event of events) actor.send(event);
        const isStopped = events.some(({ type }) => type === 'stop.requested');
        actor.send(behind);
        assert.equal(state(), isStopped ? 'stopped' : 'paused');
      }
    )
  );
});
