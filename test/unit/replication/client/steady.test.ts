import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { steadily } from '../../../../src/replication/client/steady.ts';

const STALL_MS = 200;

/** Pieces of a length, each after a while, and after each as long a pause of the reader. */
async function take(count: number, bytes: number, waitMs: number, pauseMs: number): Promise<number> {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < count; index++) {
      await sleep(waitMs);
      yield Buffer.alloc(bytes);
    }
  }
  let taken = 0;
  for await (const piece of steadily(body(), 'http://source', STALL_MS)) {
    taken += piece.length;
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return taken;
}

test('SOURCE_UNREACHABLE: a body that comes byte by byte', async () => {
  await assert.rejects(take(100, 1, 20, 0), { code: 'SOURCE_UNREACHABLE', message: /the answer has stalled/ });
});

test('a body that comes at a rate is taken, however slow its reader is', async () => {
  assert.equal(await take(10, 16 * 1024, 50, 0), 10 * 16 * 1024);
  assert.equal(await take(4, 1, 1, 100), 4);
});
