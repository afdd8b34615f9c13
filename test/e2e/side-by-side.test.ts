import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import { createDatabase, dropAfterwards } from '../support/mariadb.ts';
import { appendBlocks, createIndexer } from '../support/sync/generated-indexer.ts';
import { startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess, temporaryDirectory } from '../support/sync/sync-process.ts';

const PREFIXES = ['left_', 'right_'];

test('two replicas side by side on one machine: each has its own state and pause, and both end equal after a kill', async () => {
  const source = await createDatabase('beside');
  await createIndexer(source, { seed: 'beside', blocks: 20, rows: 200 });
  const pair = await startPair('indexer', source);
  const settings = await Promise.all(
    PREFIXES.map(async (prefix) => ({
      REPLICA_DB_PREFIX: prefix,
      SYNC_API_PORT: await freePort(),
      SYNC_STATE_DIR: temporaryDirectory(prefix)
    }))
  );
  for (const prefix of PREFIXES) dropAfterwards(source, prefix + source.name);
  const startBoth = () => Promise.all(settings.map((env) => pair.startClient(env)));
  const actorOf = async (client: SyncProcess) => {
    const actors = (await client.get('/debug/actors')).body as unknown as readonly { readonly state: string }[];
    return actors[0]?.state;
  };
  const stands = (client: SyncProcess, height: number) =>
    eventually(`${client.url} is at ${height}`, async () => (await pair.status(client))['block_height'] === height);

  let [left, right] = (await startBoth()) as [SyncProcess, SyncProcess];
  await Promise.all([left, right].map((client) => stands(client, 119)));
  assert.equal(await left.post('/debug/actors/indexer/litecoin/regtest/pause'), 202);
  const further = await appendBlocks(source, 3, 'beside');
  await stands(right, further);
  await Promise.all([left, right].map((client) => client.end('SIGKILL')));
  [left, right] = (await startBoth()) as [SyncProcess, SyncProcess];
  const last = await appendBlocks(source, 2, 'beside');
  await stands(right, last);
  assert.deepEqual([await actorOf(left), await actorOf(right)], ['paused', 'running']);

  assert.equal(await left.post('/debug/actors/indexer/litecoin/regtest/restart'), 202);
  await stands(left, last);
  for (const prefix of PREFIXES) {
    const replica = { ...source, name: prefix + source.name };
    const isEqual = async () => (await compareDatabases(source, replica, { order: false })).equal;
    await eventually(`${replica.name} equals the source`, isEqual);
  }
  await Promise.all([left, right].map((client) => client.end()));
  await pair.server.end();
});
