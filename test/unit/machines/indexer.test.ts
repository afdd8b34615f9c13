import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActor, SimulatedClock } from 'xstate';
import { type IndexerEvent, indexerMachine } from '../../../machines/indexer/indexer.ts';
import { watchdogMachine } from '../../../machines/indexer/watchdog.ts';
import { everyState, reachedStates } from './reach.ts';

const input = { maxRollbackDepth: 126 };
const opened: IndexerEvent = { type: 'databases.opened', isHalted: false };
const located = (depth: number, isAllowed = false): IndexerEvent => {
  return { type: 'fork.located', height: 5, depth, isAllowed };
};
const refused: IndexerEvent = { type: 'ledger.refused', refusal: { code: 'LEDGER_INSANE', reason: 'sums' } };

/** The machine's state after events. */
function after(...events: IndexerEvent[]) {
  const machine = createActor(indexerMachine, { input }).start();
  for (const event of events) machine.send(event);
  return machine.getSnapshot();
}

test('every state is reached', () => {
  const events: IndexerEvent[] = [
    opened,
    { ...opened, isHalted: true },
    ...[located(1), located(127), refused],
    ...(['blocks.found', 'blocks.read', 'blocks.written', 'tip.reached'] as const).map((type) => ({ type })),
    ...(['stop.requested', 'databases.closed'] as const).map((type) => ({ type }))
  ];
  assert.deepEqual(reachedStates(indexerMachine, input, events), everyState(indexerMachine));
});

test('126 blocks are rolled back, 127 only with an operator behind them', () => {
  assert.equal(after(opened, located(126)).value, 'rollingBack');
  const { value, context } = after(opened, located(127));
  assert.deepEqual([value, context.refusal?.code], ['refusing', 'ROLLBACK_TOO_DEEP']);
  assert.equal(after(opened, located(127, true)).value, 'rollingBack');
});

test('sums that disagree end in a halt, which a restart finds', () => {
  const events: IndexerEvent[] = [opened, { type: 'blocks.found' }, { type: 'blocks.read' }, refused];
  assert.equal(after(...events).context.refusal?.reason, 'sums');
  assert.equal(after(...events, { type: 'halt.recorded' }).value, 'halted');
  assert.equal(after({ ...opened, isHalted: true }, { type: 'blocks.found' }).value, 'halted');
});

test('a block is written, then the chains are compared anew', () => {
  assert.equal(
    after(opened, { type: 'blocks.found' }, { type: 'blocks.read' }, { type: 'blocks.written' }).value,
    'inspecting'
  );
});

test('a lost database leads back to connecting from everywhere but a stop', () => {
  assert.equal(after(opened, { type: 'blocks.found' }, { type: 'database.lost' }).value, 'connecting');
  assert.equal(after(opened, { type: 'stop.requested' }, { type: 'database.lost' }).value, 'stopping');
});

test('the watchdog expires when blocks are not finished in time, however often they are begun', () => {
  const clock = new SimulatedClock();
  const watchdog = createActor(watchdogMachine, { input: { limitMs: 1_000 }, clock }).start();
  watchdog.send({ type: 'blocks.begun' });
  clock.increment(900);
  watchdog.send({ type: 'blocks.finished' });
  clock.increment(900);
  assert.equal(watchdog.getSnapshot().value, 'idle');
  watchdog.send({ type: 'blocks.begun' });
  clock.increment(900);
  watchdog.send({ type: 'blocks.begun' });
  clock.increment(100);
  assert.equal(watchdog.getSnapshot().value, 'expired');
});
