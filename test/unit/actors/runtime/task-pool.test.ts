import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TaskPool, type TaskPoolOptions } from '../../../../actors/runtime/task-pool.ts';
import { hasCode } from '../../../../src/errors.ts';
import type add from '../../../fixtures/tasks/add.ts';
import type fail from '../../../fixtures/tasks/fail.ts';
import type fill from '../../../fixtures/tasks/fill.ts';
import type spin from '../../../fixtures/tasks/spin.ts';

type FixtureTasks = { add: typeof add; fail: typeof fail; fill: typeof fill; spin: typeof spin };

function open(options: TaskPoolOptions = {}): TaskPool<FixtureTasks> {
  const pool = new TaskPool<FixtureTasks>({
    // Tasks from the source need the entry from there: both know one class `Transferred`.
    entry: new URL('../../../../actors/runtime/task-entry.ts', import.meta.url),
    locate: (name) => new URL(`../../../fixtures/tasks/${name}.ts`, import.meta.url),
    maxThreads: 1,
    ...options
  });
  after(() => pool.close());
  return pool;
}

test('runs a task by its file name and moves buffers back', async () => {
  const pool = open();
  assert.equal(await pool.run('add', { a: 2, b: 3 }), 5);
  const buffer = await pool.run('fill', { bytes: 4 });
  assert.deepEqual([...new Uint8Array(buffer)], [7, 7, 7, 7]);
});

test('a named error keeps its code and detail; a foreign one becomes INTERNAL with the stack of its throw', async () => {
  const pool = open();
  await assert.rejects(
    pool.run('fail', { named: true }),
    (error) => hasCode(error, 'DISK_FULL') && error.detail['freeBytes'] === 3
  );
  await assert.rejects(
    pool.run('fail', { named: false }),
    (error) => hasCode(error, 'INTERNAL') && /fail\.ts/.test((error.cause as Error).stack ?? '')
  );
});

test('TASKS_BUSY: a full queue refuses; a signal ends a task and makes room', async () => {
  const pool = open({ maxQueue: 1 });
  await pool.run('add', { a: 1, b: 1 });
  const abort = new AbortController();
  const spinning = pool.run('spin', undefined, { signal: abort.signal });
  const queued = pool.run('add', { a: 1, b: 2 });
  await sleep(20);
  assert.equal(pool.queueDepth, 1);
  await assert.rejects(pool.run('add', { a: 0, b: 0 }), (error) => hasCode(error, 'TASKS_BUSY'));
  abort.abort(new Error('no longer wanted'));
  await assert.rejects(spinning, /no longer wanted/);
  assert.equal(await queued, 3);
});

test('closing rejects what is in work', async () => {
  const pool = open();
  const spinning = assert.rejects(pool.run('spin', undefined), (error) => hasCode(error, 'INTERNAL'));
  await sleep(100);
  await pool.close();
  await spinning;
});
