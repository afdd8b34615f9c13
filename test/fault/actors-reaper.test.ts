import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { reap } from '../../actors/runtime/supervision/reaper.ts';
import { connect, rows } from '../../src/db/connection.ts';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase } from '../support/mariadb.ts';

/** Far below the 30 seconds that the statements take. */
const PATIENCE_MS = 10_000;
type Server = Parameters<typeof reap>[0];
const ENTRY = new URL('../fixtures/sleeping-actor.ts', import.meta.url);

test('statements that a dead thread left running end at once; other generations and databases go on', async () => {
  const coordinates = await createDatabase('reap');
  const control = await connect(coordinates);
  const sleeping = async () => {
    const found = await rows<{ info: string }>(
      control,
      "SELECT INFO AS info FROM information_schema.PROCESSLIST WHERE INFO LIKE '/* platform%SLEEP(30)' AND DB = ?",
      [coordinates.name]
    );
    return found.map(({ info }) => / (\d+) \*\//.exec(info)?.[1]).sort();
  };
  const until = async (expected: string[]) => {
    const deadline = Date.now() + PATIENCE_MS;
    while (String(await sleeping()) !== String(expected)) {
      assert.ok(Date.now() < deadline, `still running: ${await sleeping()}`);
      await sleep(10);
    }
  };
  const threads = [1, 2, 11].map((generation) => new Worker(ENTRY, { workerData: { coordinates, generation } }));
  atEnd(async () => void (await Promise.all(threads.map((thread) => thread.terminate()))));
  atEnd(async () => control.destroy());
  await until(['1', '11', '2']);
  await threads[0]!.terminate();
  await sleep(50);
  assert.deepEqual(await sleeping(), ['1', '11', '2'], 'a thread that ends does not end its statement');
  assert.equal(await reap(coordinates, coordinates.name, 1), 1);
  await until(['11', '2']);
  assert.equal(await reap(coordinates, `${coordinates.name}x`, 2), 0);
  assert.equal(await reap(coordinates, coordinates.name, 1), 0);
  for (const [index, generation] of [2, 11].entries()) {
    await threads[index + 1]!.terminate();
    await reap(coordinates, coordinates.name, generation);
  }
  await until([]);
});

test('a database that is not made yet has nothing to end', async () => {
  const coordinates = await createDatabase('reap');
  assert.equal(
    await reap({ ...coordinates, name: `${coordinates.name}_not_made` } as object as Server, 'not_made', 1),
    0
  );
});
