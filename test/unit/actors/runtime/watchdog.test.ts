import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Watchdog } from '../../../../actors/runtime/supervision/watchdog.ts';
import { until } from '../../../support/listener.ts';

const TIMEOUT_MS = 100;
/** Timeout of a thread that the test does not expect to hang. */
const LONG_MS = 450;

interface Thread {
  /** Computed so far; undefined while it does not answer. */
  cpuMs: number | undefined;
}

function watch(thread: Thread, loadPerCore = 1) {
  const found: number[] = [];
  const began = performance.now();
  const watchdog = new Watchdog({
    timeoutMs: TIMEOUT_MS,
    cpuMs: async () => thread.cpuMs,
    onHung: () => found.push(performance.now() - began),
    loadPerCore: () => loadPerCore
  });
  after(() => watchdog.stop());
  return { watchdog, found };
}

test('a silent thread that computed is hung', async () => {
  const { watchdog, found } = watch({ cpuMs: 5_000 + TIMEOUT_MS });
  watchdog.feed(5_000);
  await until(() => found.length > 0, 'the thread is found');
  await sleep(LONG_MS);
  assert.equal(found.length, 1, 'told once');
  assert.ok(found[0]! >= TIMEOUT_MS);
});

test('a silent thread that the machine did not let compute is waited for, and found when it computed at last', async () => {
  const thread: Thread = { cpuMs: 200 };
  const { watchdog, found } = watch(thread);
  watchdog.feed(190);
  await sleep(LONG_MS);
  assert.deepEqual(found, []);
  thread.cpuMs = 190 + TIMEOUT_MS;
  await until(() => found.length === 1, 'the thread is found');
});

test('a thread that neither says anything nor computes is given up after eight times the timeout', async () => {
  const { watchdog, found } = watch({ cpuMs: 0 });
  watchdog.feed(0);
  await until(() => found.length > 0, 'the thread is given up');
  assert.ok(found[0]! >= TIMEOUT_MS * 8);
});

test('before its first beacon a thread loads its modules: only what no loading takes is a loop', async () => {
  const thread: Thread = { cpuMs: 5_000 };
  const { found } = watch(thread);
  await sleep(LONG_MS);
  assert.deepEqual(found, []);
  thread.cpuMs = 10_000;
  await until(() => found.length === 1, 'the thread is found');
});

test('a thread that does not answer has as much longer as the load takes from it', async () => {
  const idle = watch({ cpuMs: undefined });
  const loaded = watch({ cpuMs: undefined }, 100);
  idle.watchdog.feed(0);
  loaded.watchdog.feed(0);
  await until(() => idle.found.length === 1, 'the thread of the idle machine is found');
  assert.deepEqual(loaded.found, []);
  await until(() => loaded.found.length === 1, 'the thread of the loaded machine is found');
  assert.ok(loaded.found[0]! >= TIMEOUT_MS * 8);
});

test('a thread that is fed is not even asked', async () => {
  const { watchdog, found } = watch({ cpuMs: 1e9 });
  for (let beat = 0; beat < 10; beat++) {
    watchdog.feed(0);
    await sleep(TIMEOUT_MS / 4);
  }
  watchdog.stop();
  await sleep(TIMEOUT_MS * 2);
  assert.deepEqual(found, []);
});
