import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Coin } from '../../../src/explorer/coins.ts';
import { KeptSchedules } from '../../../src/explorer/kept-schedules.ts';

test('the indexer is asked for its schedule once for all callers, again after a block, some seconds, and a failure', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  let [mark, asked, isAway] = ['block 1', 0, false];
  const coin = {
    report: () => ({ mark }),
    askIndexer: async (method: string) => {
      asked++;
      if (isAway) throw new Error('away');
      return `${method} ${asked}`;
    }
  } as unknown as Coin;
  const schedules = new KeptSchedules();
  const crowd = () => Promise.all(Array.from({ length: 600 }, () => schedules.read(coin)));
  assert.deepEqual(new Set(await crowd()), new Set(['feeschedule 1']));
  mark = 'block 2';
  assert.deepEqual(new Set(await crowd()), new Set(['feeschedule 2']));
  now = 10_000;
  isAway = true;
  const refused = await Promise.allSettled(Array.from({ length: 600 }, () => schedules.read(coin)));
  assert.deepEqual([new Set(refused.map(({ status }) => status)), asked], [new Set(['rejected']), 3]);
  isAway = false;
  assert.deepEqual(new Set(await crowd()), new Set(['feeschedule 4']));
});
