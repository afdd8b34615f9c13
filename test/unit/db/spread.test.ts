import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { spread } from '../../../src/db/spread.ts';

test('each job is done once, by whichever connection is free', async () => {
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const working = spread(['slow', 'quick'], [1, 2, 3, 4], async (connection, job) => {
    if (connection === 'slow') await gate.promise;
    done.push(`${connection} ${job}`);
  });
  await turn();
  assert.deepEqual(done, ['quick 2', 'quick 3', 'quick 4']);
  gate.resolve();
  await working;
  assert.deepEqual(done.slice(3), ['slow 1']);
});

test('an error of a job is thrown, and no worker is asked for an empty part', async () => {
  const failing = spread(['one', 'two'], [1, 2, 3], async (_, job) => {
    if (job === 2) throw new RangeError('odd');
  });
  await assert.rejects(failing, /odd/);
  await spread([], [], assert.fail);
  await spread(['one'], [], assert.fail);
});
