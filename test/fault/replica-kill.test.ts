import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../src/devnet/random.ts';
import { createDatabase } from '../support/mariadb.ts';
import { appendBlocks, createDecoder, reorg } from '../support/sync/generated-decoder.ts';
import { differences, pause, startPair } from '../support/sync/sync-pair.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

test('kill -9 at random points of bootstrap, live follow and rollback, always in one state directory, ends equal', async () => {
  const random = createRandom('replica kill');
  const source = await createDatabase('random_kill');
  await createDecoder(source, { seed: 'random kill', blocks: 200, rows: 40_000 });
  const pair = await startPair('decoder', source);
  const env = { SYNC_STATE_DIR: temporaryDirectory('client-state') };
  const killAfter = async (lowMs: number, highMs: number): Promise<void> => {
    const client = await pair.startClient(env);
    await pause(random.between(lowMs, highMs));
    await client.end('SIGKILL');
  };
  for (let round = 0; round < 5; round++) await killAfter(0, 1_500);

  let height = 0;
  const writing = (async () => {
    for (let round = 0; round < 4; round++) {
      height = await appendBlocks(source, 20, `live ${round}`, 30);
      height = await reorg(source, 3, 5, `branch ${round}`);
    }
  })();
  for (let round = 0; round < 4; round++) await killAfter(200, 1_500);
  await writing;
  const client = await pair.startClient(env);
  let verdict = await pair.settle(client, height);
  await eventually('replica and source are equal', async () => {
    verdict = await pair.settle(client, height);
    return verdict.equal;
  }).catch((fault: Error) => assert.fail(`${fault.message}: ${JSON.stringify(differences(verdict))}`));
  await client.end();
  await pair.server.end();
});
