import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { createActor, fromPromise, SimulatedClock, waitFor } from 'xstate';
import { stateText } from '../../../actors/runtime/observe.ts';
import type { Opened } from '../../../machines/follower/follower.ts';
import { hubPushMachine } from '../../../machines/indexer/hub-push.ts';
import { type Found, indexerMachine, type Read, type Refusal } from '../../../machines/indexer/indexer.ts';
import { watchdogMachine } from '../../../machines/indexer/watchdog.ts';
import { PlatformError } from '../../../src/errors.ts';
import { everyState } from './reach.ts';
import { scripted } from './scripted.ts';

/** Results of the effects of these names, one after the other; then they never end. */
interface Script {
  readonly connect?: (Opened | PlatformError)[];
  readonly inspect?: (Found | PlatformError)[];
  readonly read?: (Read | PlatformError)[];
  readonly write?: (undefined | PlatformError)[];
  readonly rollBack?: (undefined | PlatformError)[];
  readonly watchTip?: (Found | PlatformError)[];
  readonly awaitBlocks?: (Found | PlatformError)[];
  readonly awaitPrices?: undefined[];
  readonly refuse?: undefined[];
}

const OPENED: Opened = { isHalted: false };
const LOST = new PlatformError('DATABASE_UNAVAILABLE', { reason: 'gone' });
const INSANE = new PlatformError('LEDGER_INSANE', { reason: 'sums' });
const fork = (depth: number, isAllowed = false): Found => ({ height: 5, depth, isAllowed });

/** Runs the chart over scripted effects. @returns the states it went through, its actor and its clock */
async function run(script: Script) {
  const clock = new SimulatedClock();
  const machine = indexerMachine.provide({
    actors: {
      connect: scripted<Opened>(script.connect ?? [OPENED]),
      inspect: scripted<Found>(script.inspect),
      read: scripted<Read>(script.read),
      write: scripted<void>(script.write),
      rollBack: scripted<void, number>(script.rollBack),
      watchTip: scripted<Found>(script.watchTip),
      awaitBlocks: scripted<Found>(script.awaitBlocks),
      awaitPrices: scripted<void>(script.awaitPrices),
      refuse: scripted<void, Refusal>(script.refuse),
      close: scripted<void>([undefined])
    }
  });
  const actor = createActor(machine, { input: { maxRollbackDepth: 126, reconnectDelayMs: 1_000 }, clock });
  const states: string[] = [];
  actor.subscribe(({ value }) => states.push(stateText(value)));
  actor.start();
  await settled();
  return { actor, clock, states };
}

test('126 blocks are rolled back, 127 only with an operator behind them', async () => {
  for (const [found, to] of [
    [fork(126), 'rollingBack'],
    [fork(127), 'refusing'],
    [fork(127, true), 'rollingBack']
  ] as const) {
    const { actor, states } = await run({ inspect: [found] });
    assert.equal(states.at(-1), to);
    const { refusal, forkHeight } = actor.getSnapshot().context;
    assert.deepEqual([refusal?.code, forkHeight], to === 'refusing' ? ['ROLLBACK_TOO_DEEP', null] : [undefined, 5]);
  }
});

test('sums that disagree end in a halt, after a block and after a rollback, and a restart finds it', async () => {
  const written = await run({ inspect: ['blocks'], read: ['blocks'], write: [INSANE], refuse: [undefined] });
  assert.deepEqual(written.states.slice(-3), ['indexing.writing', 'refusing', 'halted']);
  const refusal = { code: 'LEDGER_INSANE', reason: INSANE.message };
  assert.deepEqual(written.actor.getSnapshot().context.refusal, refusal);
  const rolledBack = await run({ inspect: [fork(1)], rollBack: [INSANE] });
  assert.equal(rolledBack.states.at(-1), 'refusing');
  const restarted = await run({ connect: [{ isHalted: true }], inspect: ['blocks'] });
  assert.deepEqual(restarted.states, ['connecting', 'halted']);
});

test('after each block and each rollback the chains are compared anew; at the tip until there is something to do', async () => {
  const { states } = await run({
    inspect: ['blocks', 'blocks', fork(1), 'tip', 'tip'],
    read: ['blocks', 'fork', 'blocks'],
    write: [undefined, undefined],
    rollBack: [undefined],
    watchTip: ['blocks', fork(1)]
  });
  const [reading, writing, inspecting] = ['indexing.reading', 'indexing.writing', 'inspecting'];
  const way = [reading, writing, inspecting, reading, inspecting, 'rollingBack', inspecting, 'caughtUp'];
  const again = [reading, writing, inspecting, 'caughtUp', 'rollingBack'];
  assert.deepEqual(states.slice(2), [...way, ...again]);
});

test('a lost database is opened again after a pause', async () => {
  const { states, clock } = await run({ connect: [OPENED, OPENED], inspect: ['blocks'], read: [LOST] });
  clock.increment(999);
  assert.equal(states.at(-1), 'reconnecting');
  clock.increment(1);
  await settled();
  assert.deepEqual(states.slice(-2), ['connecting', 'inspecting']);
});

test('ROWS_REFUSED: what MariaDB refuses for its content is no outage; it is tried again after 10 s', async () => {
  const refused = new PlatformError('ROWS_REFUSED', { reason: 'too long' });
  const { states, clock } = await run({
    connect: [OPENED, OPENED],
    inspect: ['blocks'],
    read: ['blocks'],
    write: [refused]
  });
  assert.equal(states.at(-1), 'refusedByDatabase');
  clock.increment(9_999);
  assert.equal(states.at(-1), 'refusedByDatabase');
  clock.increment(1);
  await settled();
  assert.deepEqual(states.slice(-2), ['connecting', 'inspecting']);
});

test('a fault that no retry mends ends it', async () => {
  for (const code of ['DATABASE_REFUSED', 'DATABASE_UNUSABLE', 'INTERNAL'] as const) {
    const fault = new PlatformError(code, { reason: 'for good' });
    const { actor, states } = await run({ connect: [fault] });
    assert.equal(states.at(-1), 'failed');
    assert.equal(actor.getSnapshot().context.fault, fault);
  }
});

test('a decoder that is only behind is waited for, however far; its blocks or another branch end that', async () => {
  for (const [found, to] of [
    ['tip', 'caughtUp'],
    ['blocks', 'indexing.reading'],
    [fork(1), 'rollingBack']
  ] as const) {
    const { states } = await run({ inspect: ['behind'], awaitBlocks: [found] });
    assert.deepEqual(states.slice(-2), ['decoderBehind', to]);
  }
});

test('blocks without their prices are waited for; prices that were replaced halt', async () => {
  const waited = await run({ inspect: ['blocks', 'blocks'], read: ['unpriced', 'blocks'], awaitPrices: [undefined] });
  assert.deepEqual(waited.states.slice(-4), ['awaitingPrices', 'inspecting', 'indexing.reading', 'indexing.writing']);
  const replaced = new PlatformError('PRICES_REPLACED', { reason: 'block 7' });
  const { actor, states } = await run({ inspect: ['blocks'], read: [replaced], refuse: [undefined] });
  assert.equal(states.at(-1), 'halted');
  assert.equal(actor.getSnapshot().context.refusal?.code, 'PRICES_REPLACED');
});

test('every state is reached, and none but the last ones outlives a stop', async () => {
  const scripts: Script[] = [
    { connect: [] },
    { connect: [LOST] },
    { connect: [{ isHalted: true }] },
    { connect: [new PlatformError('DATABASE_REFUSED', { reason: 'no account' })] },
    {},
    { inspect: ['tip'] },
    { inspect: ['behind'] },
    { inspect: [fork(1)] },
    { inspect: [fork(127)] },
    { inspect: ['blocks'] },
    { inspect: ['blocks'], read: ['blocks'] },
    { inspect: ['blocks'], read: ['unpriced'] },
    { connect: [new PlatformError('ROWS_REFUSED', { reason: 'too long' })] }
  ];
  const runs = await Promise.all(scripts.map(run));
  for (const { actor } of runs) actor.send({ type: 'stop.requested' });
  await settled();
  assert.deepEqual([...new Set(runs.map(({ states }) => states.at(-1)))].sort(), ['failed', 'stopped']);
  assert.deepEqual([...new Set(runs.flatMap(({ states }) => states))].sort(), everyState(indexerMachine));
});

test('the watchdog expires when blocks get no further in time, however often they are begun', () => {
  const clock = new SimulatedClock();
  const watchdog = createActor(watchdogMachine, { input: { limitMs: 1_000 }, clock }).start();
  watchdog.send({ type: 'blocks.begun', limitMs: 1_000 });
  clock.increment(900);
  watchdog.send({ type: 'blocks.finished' });
  clock.increment(900);
  assert.equal(watchdog.getSnapshot().value, 'idle');
  watchdog.send({ type: 'blocks.begun', limitMs: 1_000 });
  clock.increment(900);
  watchdog.send({ type: 'blocks.begun', limitMs: 1_000 });
  clock.increment(99);
  watchdog.send({ type: 'block.done' });
  clock.increment(999);
  assert.equal(watchdog.getSnapshot().value, 'armed', 'a block was done');
  watchdog.send({ type: 'page.read' });
  clock.increment(999);
  assert.equal(watchdog.getSnapshot().value, 'armed', 'a part of the state was read');
  clock.increment(1);
  assert.equal(watchdog.getSnapshot().value, 'expired');
});

test('a later attempt has the limit that it is begun with', () => {
  const clock = new SimulatedClock();
  const watchdog = createActor(watchdogMachine, { input: { limitMs: 1_000 }, clock }).start();
  watchdog.send({ type: 'blocks.begun', limitMs: 4_000 });
  clock.increment(3_999);
  assert.equal(watchdog.getSnapshot().value, 'armed');
  clock.increment(1);
  assert.equal(watchdog.getSnapshot().value, 'expired');
});

test('pushes are told again after a pause that doubles, up to a limit, and at once where something is queued', async () => {
  const clock = new SimulatedClock();
  const outcomes = [false, false, false, true];
  const send = fromPromise<void, void>(() =>
    outcomes.shift() ? Promise.resolve() : Promise.reject(new Error('away'))
  );
  const pauses = { firstPauseMs: 100, longestPauseMs: 300, lookMs: 1_000 };
  const machine = createActor(hubPushMachine.provide({ actors: { send } }), { input: pauses, clock }).start();
  for (const pauseMs of [100, 200, 300]) {
    await waitFor(machine, ({ value }) => value === 'resting');
    clock.increment(pauseMs - 1);
    assert.equal(machine.getSnapshot().value, 'resting');
    clock.increment(1);
    assert.equal(machine.getSnapshot().value, 'sending');
  }
  await waitFor(machine, ({ value }) => value === 'idle');
  assert.equal(machine.getSnapshot().context.failures, 0);
  machine.send({ type: 'push.queued' });
  assert.equal(machine.getSnapshot().value, 'sending');
  await waitFor(machine, ({ value }) => value === 'resting');
  machine.send({ type: 'stop.requested' });
  assert.equal(machine.getSnapshot().value, 'stopped');
});
