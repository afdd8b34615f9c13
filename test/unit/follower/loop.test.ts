import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decoderMachine } from '../../../machines/follower/chain-writer.ts';
import { ChainLoop, type ChainLoopOptions } from '../../../src/follower/loop.ts';
import { silentLogger } from '../../../src/log.ts';

test('a database that answers is asked once a second, one that does not at each look, and one that is gone not at all', async () => {
  let [answers, asked] = [true, 0];
  const database = {
    probe: async () => {
      asked++;
      return answers;
    }
  };
  const work = { store: { database } as object | undefined, undoDepth: 1, facts: { haltReason: null }, alarm: null };
  const options = { machine: decoderMachine, work, counters: [], retryDelayMs: 1, log: silentLogger };
  const loop = new ChainLoop(options as unknown as ChainLoopOptions);
  const look = async (times: number) => {
    for (let time = 0; time < times; time++) await loop.probe();
    return [asked, loop.report.isDatabaseReachable];
  };
  assert.deepEqual(await look(4), [1, true]);
  await sleep(1_050);
  answers = false;
  assert.deepEqual(await look(4), [5, false]);
  answers = true;
  assert.deepEqual(await look(4), [6, true]);
  work.store = undefined;
  assert.deepEqual(await look(4), [6, false]);
  work.store = { database };
  assert.deepEqual(await look(4), [7, true], 'a database that is opened again is asked at once');
});
