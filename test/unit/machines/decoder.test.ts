import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { createActor, SimulatedClock } from 'xstate';
import { stateText } from '../../../actors/runtime/observe.ts';
import { decoderMachine, type Fork, type Found } from '../../../machines/follower/chain-writer.ts';
import type { Opened } from '../../../machines/follower/follower.ts';
import { PlatformError } from '../../../src/errors.ts';
import { everyState } from './reach.ts';
import { scripted } from './scripted.ts';

/** Results of the effects of these names, one after the other; then they never end. */
interface Script {
  readonly connect?: (Opened | PlatformError)[];
  readonly awaitNode?: (undefined | PlatformError)[];
  readonly takeBlocks?: (Found | PlatformError)[];
  readonly load?: (true | PlatformError)[];
  readonly watchTip?: (Found | PlatformError)[];
  readonly awaitBlocks?: (Found | PlatformError)[];
  readonly locateFork?: (Fork | PlatformError)[];
  readonly rollBack?: (undefined | PlatformError)[];
  readonly refuse?: undefined[];
  readonly watchHalt?: true[];
}

const input = { maxRollbackDepth: 126, reconnectDelayMs: 1_000 };
const OPENED: Opened = { isHalted: false };
const LOST = new PlatformError('DATABASE_UNAVAILABLE', { reason: 'gone' });
const toFork = (): Script => ({ connect: [OPENED], awaitNode: [undefined], takeBlocks: ['fork'] });

/** Runs the chart over scripted effects. @returns the states it went through, its actor and its clock */
async function run(script: Script) {
  const clock = new SimulatedClock();
  const machine = decoderMachine.provide({
    actors: {
      connect: scripted<Opened>(script.connect),
      awaitNode: scripted<void>(script.awaitNode),
      takeBlocks: scripted<Found>(script.takeBlocks),
      load: scripted<true>(script.load),
      watchTip: scripted<Found>(script.watchTip),
      awaitBlocks: scripted<Found>(script.awaitBlocks),
      locateFork: scripted<Fork>(script.locateFork),
      rollBack: scripted<void>(script.rollBack),
      refuse: scripted<void>(script.refuse),
      watchHalt: scripted<true>(script.watchHalt),
      close: scripted<void>([undefined])
    }
  });
  const actor = createActor(machine, { input, clock });
  const states: string[] = [];
  actor.subscribe(({ value }) => states.push(stateText(value)));
  actor.start();
  await settled();
  return { actor, clock, states };
}

test('126 blocks are rolled back, 127 only with an operator behind them', async () => {
  for (const [depth, isAllowed, to] of [
    [126, false, 'rollingBack'],
    [127, false, 'refusing'],
    [127, true, 'rollingBack']
  ] as const) {
    const { states } = await run({ ...toFork(), locateFork: [{ depth, isAllowed }] });
    assert.equal(states.at(-1), to);
  }
});

test('after a rollback the chain is followed again, from the tip as from behind it', async () => {
  const { states } = await run({
    connect: [OPENED],
    awaitNode: [undefined],
    takeBlocks: ['tip', 'tip'],
    watchTip: ['blocks', 'fork'],
    locateFork: [{ depth: 1, isAllowed: false }],
    rollBack: [undefined]
  });
  const [behind, atTip] = ['parsing.catchingUp', 'parsing.caughtUp'];
  assert.deepEqual(states.slice(2), [behind, atTip, behind, atTip, 'locatingFork', 'rollingBack', behind]);
});

test('coins that a first sync gathered are loaded before the next blocks are taken; a lost database is opened for it again', async () => {
  const opened = (): Script => ({ connect: [OPENED], awaitNode: [undefined] });
  const { states } = await run({ ...opened(), takeBlocks: ['gathered', 'tip'], load: [true] });
  const parsing = ['catchingUp', 'loading', 'catchingUp', 'caughtUp'].map((state) => `parsing.${state}`);
  assert.deepEqual(states.slice(2), parsing);
  const lost = await run({ ...opened(), takeBlocks: ['gathered'], load: [LOST] });
  assert.equal(lost.states.at(-1), 'reconnecting');
});

test('a recorded halt outlives a restart, until the node has our newest block again', async () => {
  const { states } = await run({ connect: [{ isHalted: true }], awaitNode: [undefined] });
  assert.deepEqual(states, ['connecting', 'halted']);
  const ended = await run({ connect: [{ isHalted: true }], watchHalt: [true] });
  assert.deepEqual(ended.states, ['connecting', 'halted', 'waitingForNode']);
});

test('a node that is only behind is waited for; its blocks or another branch end that', async () => {
  const opened = (): Script => ({ connect: [OPENED], awaitNode: [undefined] });
  const waits = await run({ ...opened(), takeBlocks: ['behind'] });
  assert.equal(waits.states.at(-1), 'nodeBehind');
  const back = await run({ ...opened(), takeBlocks: ['tip'], watchTip: ['behind'], awaitBlocks: ['blocks'] });
  assert.deepEqual(back.states.slice(-2), ['nodeBehind', 'parsing.catchingUp']);
  const forked = await run({ ...opened(), takeBlocks: ['behind'], awaitBlocks: ['fork'] });
  assert.deepEqual(forked.states.slice(-2), ['nodeBehind', 'locatingFork']);
});

test('a fork that is none by now rolls nothing back', async () => {
  const { states } = await run({ ...toFork(), locateFork: [{ depth: 0, isAllowed: false }] });
  assert.deepEqual(states.slice(-2), ['locatingFork', 'parsing.catchingUp']);
});

test('ROWS_REFUSED: rows that the database refuses are written again after a while', async () => {
  const refused = new PlatformError('ROWS_REFUSED', { reason: 'too long' });
  const { states, clock } = await run({ connect: [OPENED, OPENED], awaitNode: [undefined], takeBlocks: [refused] });
  assert.equal(states.at(-1), 'refusedByDatabase');
  clock.increment(10_000);
  await settled();
  assert.deepEqual(states.slice(-2), ['connecting', 'waitingForNode']);
});

test('a lost database is opened again after a pause', async () => {
  const { states, clock } = await run({ connect: [OPENED, OPENED], awaitNode: [undefined], takeBlocks: [LOST] });
  assert.equal(states.at(-1), 'reconnecting');
  clock.increment(999);
  assert.equal(states.at(-1), 'reconnecting');
  clock.increment(1);
  await settled();
  assert.deepEqual(states.slice(-2), ['connecting', 'waitingForNode']);
});

test('a fault that no retry mends ends it', async () => {
  const mismatch = new PlatformError('NODE_MISMATCH', { reason: 'another chain' });
  const { actor, states } = await run({ connect: [OPENED], awaitNode: [mismatch] });
  assert.equal(states.at(-1), 'failed');
  assert.equal(actor.getSnapshot().context.fault, mismatch);
});

test('every state is reached', async () => {
  const stopped = await run({ ...toFork(), locateFork: [{ depth: 127, isAllowed: false }], refuse: [undefined] });
  stopped.actor.send({ type: 'stop.requested' });
  await settled();
  assert.deepEqual(stopped.states.slice(-2), ['stopping', 'stopped']);
  const others: Script[] = [
    { connect: [OPENED], awaitNode: [undefined], takeBlocks: ['tip'] },
    { connect: [OPENED], awaitNode: [undefined], takeBlocks: ['gathered'] },
    { ...toFork(), locateFork: [{ depth: 1, isAllowed: false }] },
    { connect: [OPENED], awaitNode: [undefined], takeBlocks: ['behind'] },
    { connect: [OPENED], awaitNode: [undefined], takeBlocks: [new PlatformError('ROWS_REFUSED')] },
    { connect: [LOST] },
    { connect: [new PlatformError('DATABASE_REFUSED', { reason: 'no account' })] }
  ];
  const runs = [stopped, ...(await Promise.all(others.map(run)))];
  assert.deepEqual([...new Set(runs.flatMap(({ states }) => states))].sort(), everyState(decoderMachine));
});
