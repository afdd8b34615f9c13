import assert from 'node:assert/strict';
import { test } from 'node:test';
import { epochCommitMachine } from '../../../machines/sync/epoch-commit.ts';
import { epochOf } from '../../../src/consensus/epoch-tree.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const INPUT = { epochSize: 10, epoch: 1, height: 0, retryMs: 1_000 };
const recorded = (height: number) => ({ type: 'block.recorded', height }) as const;
const reorg = (forkHeight: number) => ({ type: 'reorg.detected', forkHeight }) as const;

test('epoch e covers blocks (e-1)*size+1 to e*size; block 0 belongs to none', () => {
  assert.deepEqual(
    [0, 1, 100, 101].map((height) => epochOf(height, 100)),
    [0, 1, 1, 2]
  );
});

test('commits at the last block of an epoch and opens the next one', () => {
  const commits: number[] = [];
  const machine = epochCommitMachine.provide({
    actions: { commit: ({ context }) => void commits.push(context.epoch) }
  });
  const { actor, state } = onSimulatedClock(machine, INPUT);
  for (let height = 1; height <= 9; height++) actor.send(recorded(height));
  assert.equal(state(), 'open');
  actor.send(recorded(10));
  assert.equal(state(), 'committing');
  actor.send({ type: 'epoch.committed', attempt: 1 });
  assert.equal(state(), 'committed');
  actor.send(recorded(11));
  assert.equal(state(), 'open');
  assert.deepEqual(commits, [1]);
});

test('a backlog of full epochs is committed one after another', () => {
  const commits: number[] = [];
  const machine = epochCommitMachine.provide({
    actions: { commit: ({ context }) => void commits.push(context.epoch) }
  });
  const { actor, state } = onSimulatedClock(machine, INPUT);
  actor.send(recorded(35));
  for (const attempt of [1, 2, 3]) actor.send({ type: 'epoch.committed', attempt });
  assert.deepEqual(commits, [1, 2, 3]);
  assert.equal(state(), 'committed');
});

test('a failed commit is tried again after a pause', () => {
  const { actor, clock, state } = onSimulatedClock(epochCommitMachine, INPUT);
  actor.send(recorded(10));
  actor.send({ type: 'commit.failed', attempt: 1 });
  assert.equal(state(), 'open');
  clock.increment(1_000);
  assert.equal(state(), 'committing');
});

test('a reorg reopens the epoch of the fork, and the outcome of an overtaken commit counts for nothing', () => {
  const { actor, state } = onSimulatedClock(epochCommitMachine, { ...INPUT, epoch: 3, height: 29 });
  actor.send(recorded(30));
  actor.send(reorg(15));
  assert.equal(actor.getSnapshot().context.epoch, 2);
  actor.send(recorded(20));
  actor.send({ type: 'epoch.committed', attempt: 1 });
  assert.equal(state(), 'committing');
  actor.send({ type: 'epoch.committed', attempt: 2 });
  assert.equal(state(), 'committed');
});

test('whatever blocks and reorgs come, in the end exactly the full epochs are committed', () => {
  const step = fc.oneof(
    fc.integer({ min: 1, max: 25 }).map((blocks) => ({ blocks, fork: 0 })),
    fc.integer({ min: 1, max: 60 }).map((fork) => ({ blocks: 0, fork }))
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const { actor } = onSimulatedClock(epochCommitMachine, INPUT);
      let height = 0;
      for (const { blocks, fork } of steps) {
        if (fork > 0 && fork <= height) {
          actor.send(reorg(fork));
          height = fork - 1;
        }
        for (let count = 0; count < blocks; count++) actor.send(recorded(++height));
      }
      for (let count = 0; count < 100 && actor.getSnapshot().matches('committing'); count++) {
        actor.send({ type: 'epoch.committed', attempt: actor.getSnapshot().context.attempt });
      }
      assert.equal(actor.getSnapshot().context.epoch - 1, Math.floor(height / INPUT.epochSize));
    })
  );
});

test('every state is reached', () => {
  const events = [
    recorded(1),
    recorded(10),
    { type: 'epoch.committed', attempt: 1 },
    { type: 'commit.failed', attempt: 1 }
  ] as const;
  assert.deepEqual(reachedStates(epochCommitMachine, INPUT, events), everyState(epochCommitMachine));
});
