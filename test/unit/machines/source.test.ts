import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { createActor, fromPromise } from 'xstate';
import { stateText } from '../../../actors/runtime/observe.ts';
import { type Found, sourceMachine } from '../../../machines/sync/source.ts';
import { PlatformError } from '../../../src/errors.ts';
import { everyState } from './reach.ts';

interface Script {
  /** Results of polls, one after the other; then they never end. */
  readonly poll?: Found[];
  readonly start?: () => Promise<void>;
  readonly broadcastReorg?: () => Promise<void>;
}

const never = () => new Promise<never>(() => undefined);
const atOnce = () => Promise.resolve();

/** Runs the chart over scripted effects. @returns the states it went through, and the actor */
async function run({ poll = [], start = atOnce, broadcastReorg = atOnce }: Script) {
  const done = fromPromise<void, void>(atOnce);
  const cancelled: string[] = [];
  const actor = createActor(
    sourceMachine.provide({
      actors: {
        start: fromPromise<void, void>(start),
        backfill: done,
        poll: fromPromise<Found, void>(({ signal }) => {
          signal.addEventListener('abort', () => cancelled.push('poll'));
          const found = poll.shift();
          return found ? Promise.resolve(found) : never();
        }),
        broadcastGroup: done,
        broadcastReorg: fromPromise<void, void>(broadcastReorg)
      }
    })
  );
  const states: string[] = [];
  actor.subscribe(({ value }) => states.push(stateText(value)));
  actor.start();
  await settled();
  return { actor, states, cancelled };
}

test('the gap repair comes before the first poll, and a group before the next', async () => {
  const { states } = await run({ poll: ['blocks', 'blocks'] });
  const group = ['polling.behind', 'polling.caughtUp'];
  assert.deepEqual(states, ['starting', 'backfilling', 'polling.caughtUp', ...group, ...group]);
});

test('after a reorg the database is polled anew', async () => {
  const { states } = await run({ poll: ['fork', 'blocks'] });
  assert.deepEqual(states.slice(2), [
    'polling.caughtUp',
    'reorging',
    'polling.caughtUp',
    'polling.behind',
    'polling.caughtUp'
  ]);
});

test('while a reorg is not broadcast nothing else is', async () => {
  const { states } = await run({ poll: ['fork', 'blocks'], broadcastReorg: never });
  assert.equal(states.at(-1), 'reorging');
});

test('a stop cancels the effect under way', async () => {
  const { actor, states, cancelled } = await run({});
  actor.send({ type: 'stop' });
  assert.equal(states.at(-1), 'stopping');
  assert.deepEqual(cancelled, ['poll']);
  assert.equal(actor.getSnapshot().status, 'done');
});

test('a fault that no retry mends ends it, from any state', async () => {
  const fault = new PlatformError('DATABASE_REFUSED', { reason: 'no such account' });
  const fails = () => Promise.reject(fault);
  for (const script of [{ start: fails }, { poll: ['fork' as const], broadcastReorg: fails }]) {
    const { actor, states } = await run(script);
    assert.equal(states.at(-1), 'failed');
    assert.equal(actor.getSnapshot().context.fault, fault);
  }
});

test('every state is reached', async () => {
  const stopped = await run({ poll: ['blocks', 'fork'] });
  stopped.actor.send({ type: 'stop' });
  const failed = await run({ start: () => Promise.reject(new Error('broken')) });
  assert.deepEqual([...new Set([...stopped.states, ...failed.states])].sort(), everyState(sourceMachine));
});
