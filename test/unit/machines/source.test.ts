import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SourceEvent, sourceMachine } from '../../../machines/sync/source.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const EVENTS: readonly SourceEvent[] = [
  { type: 'started' },
  { type: 'backfilled' },
  { type: 'blocks.found' },
  { type: 'group.ended' },
  { type: 'fork.found' },
  { type: 'reorg.ended' },
  { type: 'stop' }
];

test('every state is reached, and each but the last names its effect', () => {
  assert.deepEqual(reachedStates(sourceMachine, undefined, EVENTS), everyState(sourceMachine));
});

test('nothing is broadcast before the gap repair is done', () => {
  const { actor, state } = onSimulatedClock(sourceMachine, undefined);
  actor.send({ type: 'blocks.found' });
  actor.send({ type: 'started' });
  actor.send({ type: 'blocks.found' });
  actor.send({ type: 'fork.found' });
  assert.equal(state(), 'backfilling');
  actor.send({ type: 'backfilled' });
  actor.send({ type: 'blocks.found' });
  assert.equal(state(), 'polling.behind');
});

test('after a reorg the database is polled anew', () => {
  const { actor, state } = onSimulatedClock(sourceMachine, undefined);
  for (const type of ['started', 'backfilled', 'fork.found'] as const) actor.send({ type });
  assert.equal(state(), 'reorging');
  actor.send({ type: 'blocks.found' });
  assert.equal(state(), 'reorging', 'the new branch waits until the reorg is broadcast');
  actor.send({ type: 'reorg.ended' });
  assert.equal(state(), 'polling.caughtUp');
  actor.send({ type: 'stop' });
  assert.equal(actor.getSnapshot().status, 'done');
});
