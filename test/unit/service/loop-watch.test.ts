import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActorRecord } from '../../../actors/runtime/supervision/actor-record.ts';
import { LoopWatch } from '../../../src/service/life/loop-watch.ts';
import type { Beacon } from '../../../src/wire/state/actor-view.ts';

type Seen = Parameters<LoopWatch['faultOf']>[0];
type Cause = Seen['restarts']['causes'][number]['cause'];

const HOUR_MS = 3_600_000;
const WELL = { lastError: null };
const silentFor = (silentMs: number): Seen['beacon'] => ({ silentMs }) as Seen['beacon'];

/** @param deaths start of the thread that ended, and why */
function seen(
  given: Partial<Omit<Seen, 'restarts'>>,
  ...deaths: readonly (readonly [generation: number, cause: Cause])[]
): Seen {
  const causes = deaths.map(([generation, cause]) => ({ at: 0, generation, cause, reason: 'the thread ended' }));
  const restarts = { inWindow: deaths.length, budget: 10, total: deaths.length, causes };
  return { state: 'running', reason: null, beacon: silentFor(0), restarts, ...given };
}

test('a loop whose thread says nothing is not well, whatever it reported last', () => {
  const watch = new LoopWatch();
  watch.note({ ...WELL, height: 5, lagBlocks: 0 }, 1);
  assert.equal(watch.faultOf(seen({ beacon: silentFor(7_900) })), null);
  assert.match(watch.faultOf(seen({ beacon: silentFor(9_000) })) ?? '', /has not answered for 9 s/);
});

test('a loop that was started again is not well before it writes a block, or has none to write', () => {
  const watch = new LoopWatch();
  watch.note({ ...WELL, height: 3, lagBlocks: 0 }, 1);
  watch.note({ ...WELL, height: 3, lagBlocks: 3 }, 1);
  const again = seen({}, [1, 'hung']);
  const down = seen({ state: 'starting', beacon: null }, [1, 'hung']);
  for (const view of [down, again])
    assert.match(watch.faultOf(view) ?? '', /its thread ended \(hung: .*\) and has written no block since/);
  watch.note({ ...WELL, height: 3, lagBlocks: null }, 2);
  watch.note({ ...WELL, height: 3, lagBlocks: 3 }, 2);
  assert.notEqual(watch.faultOf(again), null, 'its first reports show what it had before');
  watch.note({ lastError: 'the decoder is away', height: 3, lagBlocks: null }, 2);
  assert.equal(watch.faultOf(again), null, 'it says itself why it waits');
  watch.note({ ...WELL, height: 3, lagBlocks: 3 }, 2);
  assert.notEqual(watch.faultOf(again), null);
  watch.note({ ...WELL, height: 4, lagBlocks: 2 }, 2);
  assert.equal(watch.faultOf(again), null);
  assert.notEqual(watch.faultOf(seen({}, [1, 'hung'], [2, 'hung'])), null, 'that thread ended too');
  const reader = new LoopWatch();
  reader.note({ ...WELL, height: 3, lagBlocks: 2 }, 2, true);
  assert.equal(reader.faultOf(again), null, 'it writes none: each report is a look of its own');
  const tip = new LoopWatch();
  tip.note({ ...WELL, height: 3, lagBlocks: 0 }, 2);
  assert.equal(tip.faultOf(again), null, 'it has all blocks');
});

test('a clock that is set by an hour neither ends a thread nor spares one', (t) => {
  let [now, clock] = [0, 0];
  // Other tests of the process need their clocks when this one is over.
  const mocks = [t.mock.method(performance, 'now', () => now), t.mock.method(Date, 'now', () => clock)];
  for (const hours of [-1, 1]) {
    clock = 1_000 * HOUR_MS;
    const record = new ActorRecord(8, 1, () => undefined);
    const view = () => ({ state: 'running', reason: null, ...record.view(0, 10) }) as Seen;
    const watch = new LoopWatch();
    watch.note({ ...WELL, height: 5, lagBlocks: 0 }, record.startGeneration());
    record.keepBeacon({} as Beacon);
    clock += hours * HOUR_MS;
    assert.equal(watch.faultOf(view()), null);
    now += 9_000;
    assert.match(watch.faultOf(view()) ?? '', /has not answered for 9 s/);
    record.died('hung', 'the thread ended');
    const again = record.startGeneration();
    record.keepBeacon({} as Beacon);
    assert.match(watch.faultOf(view()) ?? '', /has written no block since/);
    clock -= hours * HOUR_MS;
    watch.note({ ...WELL, height: 6, lagBlocks: 0 }, again);
    assert.equal(watch.faultOf(view()), null);
  }
  for (const { mock } of mocks) mock.restore();
});

test('a thread that an operator ended is no fault once it runs again; one that is down has its reason', () => {
  const watch = new LoopWatch();
  assert.equal(watch.faultOf(seen({}, [1, 'killed'])), null);
  assert.equal(watch.faultOf(seen({ state: 'starting', beacon: null })), null);
  const reason = { code: 'INTERNAL', message: 'it broke', detail: {} } as unknown as Seen['reason'];
  assert.equal(watch.faultOf(seen({ state: 'backoff', reason })), 'it broke');
  assert.equal(watch.faultOf(seen({ state: 'paused' })), 'its thread is paused');
});
