import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MempoolEvent, mempoolMachine } from '../../../machines/decoder/mempool.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const input = { restMs: 60_000 };
const synced: MempoolEvent = { type: 'lag.changed', isSynced: true };
const behind: MempoolEvent = { type: 'lag.changed', isSynced: false };
const EVENTS: readonly MempoolEvent[] = [
  synced,
  behind,
  { type: 'pool.listed', waiting: 2_000 },
  { type: 'pool.listed', waiting: 0 },
  { type: 'batch.fetched' },
  { type: 'batch.stored', waiting: 1_000 },
  { type: 'batch.stored', waiting: 0 },
  { type: 'pass.failed' },
  { type: 'stop.requested' }
];

test('every state is reached', () => {
  assert.deepEqual(reachedStates(mempoolMachine, input, EVENTS), everyState(mempoolMachine));
});

test('LI-13, LI-14: a pass takes one batch after another, and the next one begins a minute later', () => {
  const { actor, clock, state } = onSimulatedClock(mempoolMachine, input);
  assert.equal(state(), 'paused');
  const seen = [synced, ...EVENTS.slice(2, 3), ...EVENTS.slice(4, 6), ...EVENTS.slice(4, 5), ...EVENTS.slice(6, 7)].map(
    (event) => {
      actor.send(event);
      return state();
    }
  );
  assert.deepEqual(seen, ['listing', 'fetching', 'storing', 'fetching', 'storing', 'resting']);
  clock.increment(59_999);
  assert.equal(state(), 'resting');
  clock.increment(1);
  assert.equal(state(), 'listing');
});

test('LI-15: property: behind the tip it is paused whatever came before, and a stopped one stays so', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS)), (events) => {
      const { actor, state } = onSimulatedClock(mempoolMachine, input);
      for (const event of events) actor.send(event);
      const isStopped = events.some(({ type }) => type === 'stop.requested');
      actor.send(behind);
      assert.equal(state(), isStopped ? 'stopped' : 'paused');
    })
  );
});
