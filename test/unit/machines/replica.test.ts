import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import { type Inspection, type Outcome, replicaMachine } from '../../../machines/sync/replica.ts';
import { PlatformError } from '../../../src/errors.ts';

interface Script {
  readonly inspect?: Inspection;
  /** Results of the effects of these names, one after the other; then they never end. */
  readonly catchUp?: (Outcome | PlatformError)[];
  readonly follow?: (Outcome | PlatformError)[];
  readonly rollBack?: Outcome[];
  /** Without it, every comparison finds both sides equal. */
  readonly verify?: Outcome[];
  readonly load?: PlatformError[];
  /** Without it, every snapshot is worth loading. */
  readonly download?: Outcome[];
  /** Without it, every snapshot that is loaded stands. */
  readonly check?: Outcome[];
}

/** Runs the chart over scripted effects. @returns the states it went through, and the actor */
async function run(script: Script) {
  const play = <T>(list: (T | PlatformError)[] | undefined): Promise<T> => {
    const next = list?.shift();
    if (next === undefined) return new Promise(() => undefined);
    return next instanceof PlatformError ? Promise.reject(next) : Promise.resolve(next);
  };
  const heights: number[] = [];
  const done = fromPromise<void, void>(() => Promise.resolve());
  const clock = new SimulatedClock();
  const actor = createActor(
    replicaMachine.provide({
      actors: {
        inspect: fromPromise<Inspection, void>(() =>
          Promise.resolve(script.inspect ?? { halted: false, bootstrapped: true })
        ),
        fetchSchema: done,
        download: fromPromise<Outcome, void>(() => Promise.resolve(script.download?.shift() ?? DONE)),
        load: fromPromise<void, void>(() => (script.load?.length ? play<void>(script.load) : Promise.resolve())),
        check: fromPromise<Outcome, void>(() => Promise.resolve(script.check?.shift() ?? DONE)),
        catchUp: fromPromise<Outcome, { readonly reconcile: boolean }>(() => play(script.catchUp)),
        verify: fromPromise<Outcome, void>(() => Promise.resolve(script.verify?.shift() ?? DONE)),
        follow: fromPromise<Outcome, void>(() => play(script.follow)),
        rollBack: fromPromise<Outcome, { readonly height: number }>(({ input }) => {
          heights.push(input.height);
          return play(script.rollBack);
        }),
        release: done
      }
    }),
    { clock, input: { reconnectDelayMs: 1000, jitter: () => 0.5 } }
  );
  const states: string[] = [];
  actor.subscribe(({ value }) => {
    const text = typeof value === 'string' ? value : Object.entries(value).flat().join('.');
    if (states.at(-1) !== text) states.push(text);
  });
  actor.start();
  const settle = async () => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  };
  await settle();
  return { states, actor, clock, heights, settle };
}

const DONE: Outcome = { kind: 'done' };

test('an empty replica is bootstrapped, catches up and is live', async () => {
  const { states } = await run({ inspect: { halted: false, bootstrapped: false }, catchUp: [DONE] });
  assert.deepEqual(states, [
    'inspecting',
    'bootstrapping.schema',
    'bootstrapping.downloading',
    'bootstrapping.loading',
    'bootstrapping.checking',
    'catchingUp',
    'verifying',
    'live'
  ]);
});

test('a reorg rolls back to below the fork and is reconciled before it is live again', async () => {
  const { states, heights } = await run({
    catchUp: [DONE, DONE],
    follow: [{ kind: 'forked', height: 41 }],
    rollBack: [DONE]
  });
  assert.deepEqual(states, [
    'inspecting',
    'catchingUp',
    'verifying',
    'live',
    'rollingBack',
    'reconciling',
    'verifying',
    'live'
  ]);
  assert.deepEqual(heights, [41]);
});

test('a comparison that is due interrupts following; a difference that comes back halts until it is cleared', async () => {
  const { states, actor, settle } = await run({
    catchUp: [DONE, DONE],
    follow: [{ kind: 'due' }],
    verify: [DONE, { kind: 'halted' }]
  });
  assert.deepEqual(states.slice(-4), ['verifying', 'live', 'verifying', 'halted']);
  actor.send({ type: 'halt.cleared' });
  await settle();
  assert.deepEqual(states.slice(-4), ['inspecting', 'catchingUp', 'verifying', 'live']);
});

test('amendments that are still to come go before the comparison that follows a catch-up', async () => {
  const { states } = await run({
    catchUp: [{ kind: 'settling' }, { kind: 'settling' }],
    follow: [{ kind: 'due' }, { kind: 'forked', height: 41 }],
    verify: [DONE],
    rollBack: [DONE]
  });
  const after = ['catchingUp', 'live', 'verifying', 'live', 'rollingBack', 'reconciling', 'live'];
  assert.deepEqual(states, ['inspecting', ...after]);
});

test('a difference that no repair can settle leads to a bootstrap', async () => {
  const { states } = await run({ catchUp: [DONE], verify: [{ kind: 'lost' }] });
  assert.deepEqual(states.slice(0, 4), ['inspecting', 'catchingUp', 'verifying', 'bootstrapping.schema']);
});

test('a fork below the journal leads to a bootstrap, one deeper than the limit to a halt that only clearing ends', async () => {
  const lost = await run({ catchUp: [{ kind: 'forked', height: 3 }], rollBack: [{ kind: 'lost' }] });
  assert.deepEqual(lost.states.slice(0, 4), ['inspecting', 'catchingUp', 'rollingBack', 'bootstrapping.schema']);
  const halted = await run({ catchUp: [{ kind: 'forked', height: 3 }], rollBack: [{ kind: 'halted' }] });
  halted.clock.increment(1_000_000);
  assert.equal(halted.states.at(-1), 'halted');
  halted.actor.send({ type: 'halt.cleared' });
  await halted.settle();
  assert.deepEqual(halted.states.slice(-2), ['inspecting', 'catchingUp']);
});

test('sources that disagree halt the replica wherever it is, before a snapshot is loaded too', async () => {
  const halted: Outcome = { kind: 'halted' };
  const empty = { halted: false, bootstrapped: false };
  const scripts: [Script, string][] = [
    [{ inspect: empty, download: [halted] }, 'bootstrapping.downloading'],
    [{ inspect: empty, check: [halted] }, 'bootstrapping.checking'],
    [{ catchUp: [halted] }, 'catchingUp'],
    [{ catchUp: [DONE], follow: [halted] }, 'live'],
    [{ catchUp: [{ kind: 'forked', height: 3 }, halted], rollBack: [DONE] }, 'reconciling']
  ];
  for (const [script, before] of scripts) {
    const { states, actor, settle } = await run(script);
    assert.deepEqual(states.slice(-2), [before, 'halted']);
    actor.send({ type: 'halt.cleared' });
    await settle();
    assert.notEqual(states.at(-1), 'halted');
  }
});

test('a halt that was recorded before the start is kept', async () => {
  const { states } = await run({ inspect: { halted: true, bootstrapped: true } });
  assert.deepEqual(states, ['inspecting', 'halted']);
});

test('a fault that a retry can mend waits the delay and looks at the replica anew', async () => {
  const { states, clock, settle } = await run({
    catchUp: [DONE, DONE],
    follow: [new PlatformError('SOURCE_UNREACHABLE')]
  });
  assert.equal(states.at(-1), 'reconnecting');
  clock.increment(999);
  await settle();
  assert.equal(states.at(-1), 'reconnecting');
  clock.increment(1);
  await settle();
  assert.deepEqual(states.slice(-4), ['inspecting', 'catchingUp', 'verifying', 'live']);
});

test('a fault that no retry mends ends the actor with the fault', async () => {
  const fault = new PlatformError('ROW_REFUSED');
  const { states, actor } = await run({ inspect: { halted: false, bootstrapped: false }, load: [fault] });
  assert.equal(states.at(-1), 'failed');
  assert.equal(actor.getSnapshot().context.fault, fault);
  assert.equal(actor.getSnapshot().status, 'done');
});

test('it stops from every state', async () => {
  for (const script of [{}, { catchUp: [DONE] }, { inspect: { halted: true, bootstrapped: true } }]) {
    const { states, actor, settle } = await run(script);
    actor.send({ type: 'stop.requested' });
    await settle();
    assert.deepEqual(states.slice(-2), ['stopping', 'stopped']);
  }
});
