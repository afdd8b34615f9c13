import assert from 'node:assert/strict';
import { test } from 'node:test';
import { haltMachine } from '../../../machines/runtime/halt.ts';
import type { Halt } from '../../../src/wire/state/report.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const halt = (reason: string): Halt => ({
  block_index: 7,
  reason,
  mismatches: null,
  sources: null,
  detected_at: '2026-01-02T03:04:05.000Z'
});
const INPUT = { found: null, retryMs: 1_000 };

test('refuses from the moment it is raised, and records until it is written', () => {
  let writes = 0;
  const machine = haltMachine.provide({ actions: { record: () => void writes++ } });
  const { actor, clock, state } = onSimulatedClock(machine, INPUT);
  assert.equal(actor.getSnapshot().hasTag('refuse'), false);
  actor.send({ type: 'halt.raised', halt: halt('root mismatch') });
  assert.equal(actor.getSnapshot().hasTag('refuse'), true);
  actor.send({ type: 'record.failed' });
  clock.increment(1_000);
  assert.equal(writes, 2);
  actor.send({ type: 'halt.cleared' });
  assert.equal(state(), 'halted.recording', 'a halt on its way to the disk cannot be cleared');
  actor.send({ type: 'halt.recorded' });
  actor.send({ type: 'halt.cleared' });
  assert.equal(state(), 'running');
  assert.equal(actor.getSnapshot().context.halt, null);
});

test('the first halt stays', () => {
  const { actor } = onSimulatedClock(haltMachine, INPUT);
  actor.send({ type: 'halt.raised', halt: halt('first') });
  actor.send({ type: 'halt.recorded' });
  actor.send({ type: 'halt.raised', halt: halt('second') });
  assert.equal(actor.getSnapshot().context.halt?.reason, 'first');
});

test('a halt found at start holds, and is not written again', () => {
  let writes = 0;
  const machine = haltMachine.provide({ actions: { record: () => void writes++ } });
  const { actor, state } = onSimulatedClock(machine, { ...INPUT, found: halt('found') });
  assert.equal(state(), 'halted.recorded');
  assert.equal(actor.getSnapshot().hasTag('refuse'), true);
  assert.equal(writes, 0);
});

test('every state is reached', () => {
  const events = [
    { type: 'halt.raised', halt: halt('any') },
    { type: 'halt.recorded' },
    { type: 'record.failed' },
    { type: 'halt.cleared' }
  ] as const;
  assert.deepEqual(reachedStates(haltMachine, INPUT, events), everyState(haltMachine));
});
