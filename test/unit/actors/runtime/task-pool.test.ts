import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TaskPool, type TaskPoolOptions } from '../../../../actors/runtime/task-pool.ts';
import { hasCode } from '../../../../src/errors.ts';

function open(options: TaskPoolOptions = {}): TaskPool {
  const pool = new TaskPool({
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
  const buffer = (await pool.run('fill', { bytes: 4 })) as ArrayBuffer;
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

test('PROTOCOL_VIOLATION: a name that is no file name', async () => {
  for (const name of ['../add', 'sync/../add', '/add', 'a/b/add', ''])
    await assert.rejects(open().run(name, {}), (error) => hasCode(error, 'PROTOCOL_VIOLATION'), name);
});

test('TASKS_BUSY: a full queue refuses; a signal ends a task and makes room', async () => {
  const pool = open({ maxQueue: 1 });
  await pool.run('add', { a: 1, b: 1 });
  const abort = new AbortController();
  const spinning = pool.run('spin', {}, { signal: abort.signal });
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
  const spinning = assert.rejects(pool.run('spin', {}), (error) => hasCode(error, 'INTERNAL'));
  await sleep(100);
  await pool.close();
  await spinning;
});
