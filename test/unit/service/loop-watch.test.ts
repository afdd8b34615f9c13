import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopWatch } from '../../../src/service/loop-watch.ts';

type Seen = Parameters<LoopWatch['faultOf']>[0];
type Cause = Seen['restarts']['causes'][number]['cause'];

const AT = 1_000_000;
const WELL = { lastError: null };
const beaconAt = (at: number): Seen['beacon'] => ({ at }) as Seen['beacon'];

function seen(
  given: Partial<Omit<Seen, 'restarts'>>,
  ...deaths: readonly (readonly [at: number, cause: Cause])[]
): Seen {
  const causes = deaths.map(([at, cause]) => ({ at, generation: 1, cause, reason: 'the thread ended' }));
  const restarts = { inWindow: deaths.length, budget: 10, total: deaths.length, causes };
  return { state: 'running', reason: null, beacon: beaconAt(AT), restarts, ...given };
}

test('a loop whose thread says nothing is not well, whatever it reported last', () => {
  const watch = new LoopWatch();
  watch.note({ ...WELL, height: 5, lagBlocks: 0 }, AT);
  assert.equal(watch.faultOf(seen({}), AT + 7_900), null);
  assert.match(watch.faultOf(seen({}), AT + 9_000) ?? '', /has not answered for 9 s/);
});

test('a loop that was started again is not well before it writes a block, or has none to write', () => {
  const watch = new LoopWatch();
  watch.note({ ...WELL, height: 3, lagBlocks: 0 }, AT);
  watch.note({ ...WELL, height: 3, lagBlocks: 3 }, AT + 1_000);
  const again = seen({}, [AT + 2_000, 'hung']);
  const down = seen({ state: 'starting', beacon: null }, [AT + 2_000, 'hung']);
  for (const view of [down, again])
    assert.match(watch.faultOf(view, AT) ?? '', /its thread ended \(hung: .*\) and has written no block since/);
  watch.note({ ...WELL, height: 3, lagBlocks: null }, AT + 3_000);
  watch.note({ ...WELL, height: 3, lagBlocks: 3 }, AT + 4_000);
  assert.notEqual(watch.faultOf(again, AT), null, 'its first reports show what it had before');
  watch.note({ lastError: 'the decoder is away', height: 3, lagBlocks: null }, AT + 4_500);
  assert.equal(watch.faultOf(again, AT), null, 'it says itself why it waits');
  watch.note({ ...WELL, height: 3, lagBlocks: 3 }, AT + 4_700);
  assert.notEqual(watch.faultOf(again, AT), null);
  watch.note({ ...WELL, height: 4, lagBlocks: 2 }, AT + 5_000);
  assert.equal(watch.faultOf(again, AT), null);
  const reader = new LoopWatch();
  reader.note({ ...WELL, height: 3, lagBlocks: 2 }, AT + 3_000, true);
  assert.equal(reader.faultOf(again, AT), null, 'it writes none: each report is a look of its own');
  const tip = new LoopWatch();
  tip.note({ ...WELL, height: 3, lagBlocks: 0 }, AT + 3_000);
  assert.equal(tip.faultOf(again, AT), null, 'it has all blocks');
});

test('a thread that an operator ended is no fault once it runs again; one that is down has its reason', () => {
  const watch = new LoopWatch();
  assert.equal(watch.faultOf(seen({}, [AT, 'killed']), AT), null);
  assert.equal(watch.faultOf(seen({ state: 'starting', beacon: null }), AT), null);
  const reason = { code: 'INTERNAL', message: 'it broke', detail: {} } as unknown as Seen['reason'];
  assert.equal(watch.faultOf(seen({ state: 'backoff', reason }), AT), 'it broke');
  assert.equal(watch.faultOf(seen({ state: 'paused' }), AT), 'its thread is paused');
});
