import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopInOrder } from '../../../src/service/life/stop-order.ts';

/** Stops with a door that is closed after so long, and tells what happened in which order. */
async function stop(graceMs: number, doorMs: number) {
  const happened: string[] = [];
  let leftMs = 0;
  await stopInOrder({
    graceMs,
    closeDoor: async () => {
      await sleep(doorMs);
      happened.push('door closed');
    },
    endWork: async (ms) => {
      leftMs = ms;
      happened.push('work ends');
    },
    closeRest: [async () => void happened.push('first of the rest'), () => void happened.push('second of the rest')]
  });
  return { happened, leftMs };
}

test('the work ends when the front door is closed, and has the rest of the grace', async () => {
  const { happened, leftMs } = await stop(60_000, 20);
  assert.deepEqual(happened, ['door closed', 'work ends', 'first of the rest', 'second of the rest']);
  assert.ok(leftMs > 30_000 && leftMs < 60_000);
});

test('callers who take their answers slowly leave the work half of the grace', async () => {
  const { happened, leftMs } = await stop(200, 400);
  assert.deepEqual(happened, ['work ends', 'door closed', 'first of the rest', 'second of the rest']);
  // A timer may come a little before its time.
  assert.ok(leftMs >= 100 && leftMs < 105, `${leftMs} ms`);
});
