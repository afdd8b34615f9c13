import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActor } from 'xstate';
import { type DecoderEvent, decoderMachine } from '../../../machines/decoder/decoder.ts';
import { everyState, reachedStates } from './reach.ts';

const input = { maxRollbackDepth: 126 };
const opened: DecoderEvent = { type: 'database.opened', height: 7, isHalted: false };

/** The machine's state after events. */
function after(...events: DecoderEvent[]) {
  const machine = createActor(decoderMachine, { input }).start();
  for (const event of events) machine.send(event);
  return machine.getSnapshot();
}

const located = (depth: number, isAllowed = false): DecoderEvent => ({ type: 'fork.located', depth, isAllowed });
const forked: DecoderEvent[] = [opened, { type: 'node.verified' }, { type: 'fork.detected' }];

test('every state is reached', () => {
  const events: DecoderEvent[] = [
    opened,
    { ...opened, isHalted: true },
    ...forked.slice(1),
    { type: 'tip.reached' },
    located(1),
    located(127),
    { type: 'stop.requested' },
    { type: 'database.closed' }
  ];
  assert.deepEqual(reachedStates(decoderMachine, input, events), everyState(decoderMachine));
});

test('126 blocks are rolled back, 127 only with an operator behind them', () => {
  assert.equal(after(...forked, located(126)).value, 'rollingBack');
  assert.equal(after(...forked, located(127)).value, 'refusing');
  assert.equal(after(...forked, located(127, true)).value, 'rollingBack');
});

test('a recorded halt outlives a restart: the node is not even asked', () => {
  assert.equal(after({ ...opened, isHalted: true }, { type: 'node.verified' }).value, 'halted');
});

test('a lost database leads back to connecting from everywhere but a stop', () => {
  assert.equal(after(...forked, located(1), { type: 'database.lost' }).value, 'connecting');
  assert.equal(after(opened, { type: 'stop.requested' }, { type: 'database.lost' }).value, 'stopping');
});

test('failures add up until something goes well', () => {
  const failed: DecoderEvent = { type: 'attempt.failed' };
  const parsing = forked.slice(0, 2);
  assert.equal(after(...parsing, failed, failed).context.failures, 2);
  const { failures, height } = after(...parsing, failed, { type: 'block.written', height: 8 }).context;
  assert.deepEqual([failures, height], [0, 8]);
  assert.equal(after(...parsing, failed, { type: 'tip.reached' }).context.failures, 0);
});
