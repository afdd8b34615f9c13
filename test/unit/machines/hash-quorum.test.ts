import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromPromise } from 'xstate';
import { dissenters, hashQuorumMachine } from '../../../machines/sync/hash-quorum.ts';
import { PlatformError } from '../../../src/errors.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';
import { scripted } from './scripted.ts';

/** Its effects go on for ever. */
const machine = hashQuorumMachine.provide({ actors: { gather: scripted<'unnamed'>(), askAgain: scripted<void>() } });
const THREE = { sources: ['a', 'b', 'c'], confirmTimeoutMs: 10_000 };
const TWO = { sources: ['a', 'b'], confirmTimeoutMs: 10_000 };
const says = (source: string, hash: string) => ({ type: 'hash.reported', source, hash }) as const;

test('silence is not consent: a height waits until a strict majority of the configured sources agrees', () => {
  const { actor, clock, state } = onSimulatedClock(machine, THREE);
  actor.send(says('a', 'x'));
  clock.increment(3_600_000);
  assert.equal(state(), 'gathering');
  actor.send(says('b', 'x'));
  assert.equal(actor.getSnapshot().hasTag('apply'), true);
});

test('two sources: both must agree', () => {
  const { actor, state } = onSimulatedClock(machine, TWO);
  actor.send(says('a', 'x'));
  assert.equal(state(), 'gathering');
  actor.send(says('b', 'x'));
  assert.equal(state(), 'agreed');
});

test('a source that is doubted neither contests nor is waited for; without it there must be a majority still', () => {
  const doubting = { ...THREE, doubted: ['c'] };
  const { actor, state } = onSimulatedClock(machine, doubting);
  actor.send(says('c', 'y'));
  actor.send(says('a', 'x'));
  assert.equal(state(), 'gathering');
  actor.send(says('b', 'x'));
  assert.equal(state(), 'agreed');
  assert.deepEqual(dissenters(actor.getSnapshot().context), ['c']);
  const contested = onSimulatedClock(machine, doubting);
  for (const [source, hash] of [
    ['a', 'x'],
    ['b', 'y'],
    ['a', 'y'],
    ['b', 'y']
  ] as const)
    contested.actor.send(says(source, hash));
  assert.equal(contested.state(), 'agreed', 'the round is complete without it');
  const alone = onSimulatedClock(machine, { ...THREE, doubted: ['b', 'c'] });
  alone.actor.send(says('a', 'x'));
  assert.equal(alone.state(), 'gathering');
  alone.actor.send(says('c', 'x'));
  assert.equal(alone.state(), 'agreed', 'its agreement counts');
});

test('at the first disagreement all are asked again; sources that come to agree are believed', () => {
  let asked = 0;
  const askAgain = fromPromise<void, void>(() => new Promise(() => void asked++));
  const { actor, state } = onSimulatedClock(machine.provide({ actors: { askAgain } }), TWO);
  actor.send(says('a', 'old'));
  actor.send(says('b', 'new'));
  assert.equal(asked, 1);
  assert.equal(actor.getSnapshot().hasTag('hold'), true);
  actor.send(says('a', 'old'));
  actor.send(says('b', 'new'));
  actor.send(says('a', 'new'));
  assert.equal(state(), 'agreed');
});

test('a majority that stands when all have answered again is applied, and the dissenter is named', () => {
  const { actor, state } = onSimulatedClock(machine, THREE);
  actor.send(says('a', 'x'));
  actor.send(says('c', 'y'));
  for (const source of ['a', 'b']) actor.send(says(source, 'x'));
  assert.equal(state(), 'contested.confirming');
  actor.send(says('c', 'y'));
  assert.equal(state(), 'agreed');
  assert.deepEqual(dissenters(actor.getSnapshot().context), ['c']);
});

test('at the end of the window a majority is applied without the silent; without one the height is unresolved', () => {
  const majority = onSimulatedClock(machine, THREE);
  const none = onSimulatedClock(machine, THREE);
  for (const { actor } of [majority, none]) {
    actor.send(says('a', 'x'));
    actor.send(says('b', 'y'));
    actor.send(says('a', 'x'));
  }
  majority.actor.send(says('c', 'x'));
  none.actor.send(says('c', 'z'));
  majority.clock.increment(10_000);
  none.clock.increment(10_000);
  assert.equal(majority.state(), 'agreed');
  none.actor.send({ type: 'round.ended' });
  assert.equal(none.state(), 'unresolved');
  assert.equal(none.actor.getSnapshot().hasTag('halt'), true);
});

test('answers that are on their way at the end of the window decide', () => {
  const { actor, clock, state } = onSimulatedClock(machine, TWO);
  for (const [source, hash] of [
    ['a', 'old'],
    ['b', 'new'],
    ['a', 'old']
  ] as const)
    actor.send(says(source, hash));
  actor.send({ type: 'round.ended' });
  clock.increment(10_000);
  assert.equal(actor.getSnapshot().hasTag('hold'), true);
  actor.send(says('a', 'new'));
  actor.send(says('b', 'new'));
  actor.send({ type: 'round.ended' });
  assert.equal(state(), 'agreed');
});

test('an agreed hash does not move when a source changes its mind later', () => {
  const { actor } = onSimulatedClock(machine, TWO);
  for (const source of ['a', 'b']) actor.send(says(source, 'x'));
  actor.send(says('b', 'y'));
  assert.equal(actor.getSnapshot().context.agreed, 'x');
  assert.deepEqual(dissenters(actor.getSnapshot().context), ['b']);
});

test('nothing is ever applied that a strict majority of the configured sources did not name, strangers aside', () => {
  const report = fc.record({
    source: fc.constantFrom('a', 'b', 'c', 'd', 'stranger'),
    hash: fc.constantFrom('x', 'y'),
    waitMs: fc.constantFrom(0, 5_000, 10_000)
  });
  fc.assert(
    fc.property(fc.array(report, { maxLength: 20 }), fc.integer({ min: 1, max: 4 }), (reports, count) => {
      const sources = ['a', 'b', 'c', 'd'].slice(0, count);
      const { actor, clock } = onSimulatedClock(machine, { ...THREE, sources });
      const ever = new Map<string, Set<string>>();
      for (const { source, hash, waitMs } of reports) {
        actor.send(says(source, hash));
        clock.increment(waitMs);
        if (waitMs > 0) actor.send({ type: 'round.ended' });
        if (sources.includes(source)) ever.set(hash, (ever.get(hash) ?? new Set()).add(source));
      }
      const { agreed } = actor.getSnapshot().context;
      assert.equal(actor.getSnapshot().hasTag('apply'), agreed !== null);
      if (agreed !== null) assert.ok(ever.get(agreed)!.size * 2 > count);
    })
  );
});

test('a block that will never be named is unnamed, and sources that cannot be asked fail the height', async () => {
  const ends = (outcome: 'unnamed' | Error) =>
    onSimulatedClock(machine.provide({ actors: { gather: scripted([outcome]) } }), THREE);
  const [unnamed, failed] = [ends('unnamed'), ends(new PlatformError('SOURCE_INVALID', { reason: 'of no use' }))];
  await new Promise(setImmediate);
  assert.equal(unnamed.state(), 'unnamed');
  assert.equal(failed.state(), 'failed');
  assert.equal(failed.actor.getSnapshot().context.fault?.code, 'SOURCE_INVALID');
});

test('every state is reached', () => {
  const events = [
    says('a', 'x'),
    says('b', 'x'),
    says('b', 'y'),
    { type: 'round.ended' } as const,
    { type: 'xstate.done.actor.gather' },
    { type: 'xstate.error.actor.gather', error: new Error('failed') }
  ] as never[];
  assert.deepEqual(reachedStates(machine, TWO, events), everyState(machine));
});
