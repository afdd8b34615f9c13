import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { withinHeap } from '../../../../actors/runtime/thread/heap-share.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const MEBIBYTE = 2 ** 20;

/** Items between which the thread collects all garbage, and the observer is told. */
async function* collecting(count: number): AsyncGenerator<number> {
  for (let index = 0; index < count; index++) {
    collect();
    await delay(50);
    yield index;
  }
}

/** Asks for 32 MiB beyond what the thread holds now, with 64 MiB that are held. */
async function tooMuch(): Promise<{ limitBytes: number; held: number[][] }> {
  collect();
  const limitBytes = getHeapStatistics().used_heap_size + 32 * MEBIBYTE;
  const held = [new Array<number>(8 * MEBIBYTE).fill(0.5)];
  collect();
  await delay(50);
  return { limitBytes, held };
}

const refuse = () => new Error('too much');

test('a collection that began before the items says nothing of them; one that they brought about does', async () => {
  const { limitBytes, held } = await tooMuch();
  const items = withinHeap(collecting(3), refuse, limitBytes);
  assert.equal((await items.next()).value, 0);
  await assert.rejects(items.next(), /too much/);
  assert.equal(held.length, 1);
});

test('leftovers of others are no reason to refuse items that hold nothing', async () => {
  const { limitBytes, held } = await tooMuch();
  const taken: number[] = [];
  for await (const item of withinHeap(collecting(5), refuse, limitBytes)) {
    held.length = 0;
    taken.push(item);
  }
  assert.deepEqual(taken, [0, 1, 2, 3, 4]);
});
