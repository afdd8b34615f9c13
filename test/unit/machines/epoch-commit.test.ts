import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fromPromise } from 'xstate';
import { epochCommitMachine } from '../../../machines/sync/epoch-commit.ts';
import { epochOf } from '../../../src/consensus/epoch-tree.ts';
import fc from '../../support/fast-check.ts';
import { onSimulatedClock } from './reach.ts';

const INPUT = { epochSize: 10, epoch: 1, height: 0, retryMs: 1_000 };
const recorded = (height: number) => ({ type: 'block.recorded', height }) as const;
const reorg = (forkHeight: number) => ({ type: 'reorg.detected', forkHeight }) as const;

test('epoch e covers blocks (e-1)*size+1 to e*size; block 0 belongs to none', () => {
  assert.deepEqual(
    [0, 1, 100, 101].map((height) => epochOf(height, 100)),
    [0, 1, 1, 2]
  );
});

/** The machine with commits that end when the test says so. */
function underTest(input = INPUT) {
  const commits: { readonly epoch: number; readonly end: PromiseWithResolvers<void> }[] = [];
  const faults: unknown[] = [];
  const machine = epochCommitMachine.provide({
    actors: {
      commit: fromPromise(({ input: { epoch } }) => {
        const end = Promise.withResolvers<void>();
        commits.push({ epoch, end });
        return end.promise;
      })
    },
    actions: { tellFault: (_, { error }) => void faults.push(error) }
  });
  const { actor, clock, state } = onSimulatedClock(machine, input);
  /** Ends the commit that began last. */
  const end = async (error?: Error): Promise<void> => {
    const last = commits.at(-1)!.end;
    if (error) last.reject(error);
    else last.resolve();
    await nextTurn();
  };
  return { actor, clock, state, faults, end, commits, epochs: () => commits.map(({ epoch }) => epoch) };
}

test('commits at the last block of an epoch and opens the next one', async () => {
  const { actor, state, end, epochs } = underTest();
  for (let height = 1; height <= 9; height++) actor.send(recorded(height));
  assert.equal(state(), 'open');
  actor.send(recorded(10));
  assert.equal(state(), 'committing');
  await end();
  assert.equal(state(), 'committed');
  actor.send(recorded(11));
  assert.equal(state(), 'open');
  assert.deepEqual(epochs(), [1]);
});

test('a backlog of full epochs is committed one after another', async () => {
  const { actor, state, end, epochs } = underTest();
  actor.send(recorded(35));
  for (let left = 3; left > 0; left--) await end();
  assert.deepEqual(epochs(), [1, 2, 3]);
  assert.equal(state(), 'committed');
});

test('a failed commit is told, and tried again after a pause', async () => {
  const { actor, clock, state, end, faults } = underTest();
  const fault = new Error('the database is gone');
  actor.send(recorded(10));
  await end(fault);
  assert.equal(state(), 'open');
  assert.deepEqual(faults, [fault]);
  clock.increment(1_000);
  assert.equal(state(), 'committing');
});

test('a reorg reopens the epoch of the fork, and the outcome of an overtaken commit counts for nothing', async () => {
  const { actor, state, end, commits } = underTest({ ...INPUT, epoch: 3, height: 29 });
  actor.send(recorded(30));
  actor.send(reorg(15));
  assert.deepEqual([actor.getSnapshot().context.epoch, state()], [2, 'open']);
  actor.send(recorded(20));
  commits[0]!.end.resolve();
  await nextTurn();
  assert.equal(state(), 'committing');
  await end();
  assert.equal(state(), 'committed');
});

test('a reorg above the epoch that is committed leaves the commit alone', async () => {
  const { actor, state, end, epochs } = underTest();
  actor.send(recorded(10));
  actor.send(recorded(12));
  actor.send(reorg(11));
  assert.equal(state(), 'committing');
  await end();
  assert.deepEqual([state(), epochs()], ['committed', [1]]);
});

test('exactly the full epochs are committed in the end, after any blocks and reorgs', async () => {
  const step = fc.oneof(
    fc.integer({ min: 1, max: 25 }).map((blocks) => ({ blocks, fork: 0 })),
    fc.integer({ min: 1, max: 60 }).map((fork) => ({ blocks: 0, fork }))
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const { actor, end } = underTest();
      let height = 0;
      for (const { blocks, fork } of steps) {
        if (fork > 0 && fork <= height) {
          actor.send(reorg(fork));
          height = fork - 1;
        }
        for (let count = 0; count < blocks; count++) actor.send(recorded(++height));
      }
      for (let count = 0; count < 100 && actor.getSnapshot().matches('committing'); count++) await end();
      assert.equal(actor.getSnapshot().context.epoch - 1, Math.floor(height / INPUT.epochSize));
    })
  );
});

test('every state is reached', async () => {
  const { actor, clock, end } = underTest();
  const reached = new Set<string>();
  actor.subscribe(({ value }) => reached.add(String(value)));
  actor.send(recorded(10));
  await end(new Error('once'));
  clock.increment(1_000);
  await end();
  assert.deepEqual(reached, new Set(['open', 'committing', 'committed']));
});
