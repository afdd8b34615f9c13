import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { runCommandLine } from '../support/command-line.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { appendBlocks, createIndexer } from '../support/sync/generated-indexer.ts';
import { openTestHub } from '../support/sync/sync-pair.ts';
import {
  eventually,
  replicasAt,
  type SyncProcess,
  startSyncProcess,
  temporaryDirectory
} from '../support/sync/sync-process.ts';

const PATH = '/status/indexer/litecoin/regtest';

const stands = (server: SyncProcess, height: number) =>
  eventually(`the server is at ${height}`, async () => {
    const { body } = await server.get(PATH);
    return body['block_height'] === height;
  });

test('two processes never share a directory: the second is refused by the name of the first', async () => {
  const source = await createDatabase('shared');
  await createIndexer(source, { seed: 'a', blocks: 5, rows: 60 });
  const hub = await openTestHub();
  await hub.name([['indexer', source]]);
  const common = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port), SYNC_API_HOST: '127.0.0.1' };
  const [state, snapshots] = [temporaryDirectory('shared'), temporaryDirectory('artifacts')];
  const server = await startSyncProcess({
    ...common,
    SYNC_MODE: 'server',
    SYNC_STATE_DIR: state,
    SNAPSHOT_CACHE_DIR: snapshots
  });
  const second = {
    ...common,
    SYNC_MODE: 'client',
    SYNC_API_PORT: String(await freePort()),
    SYNC_SOURCES: server.url,
    ...replicasAt(source),
    REPLICA_DB_PREFIX: 'replica_'
  };
  for (const [variable, directory, env] of [
    ['SYNC_STATE_DIR', state, { SYNC_STATE_DIR: state }],
    ['SNAPSHOT_CACHE_DIR', snapshots, { SYNC_STATE_DIR: join(snapshots, 'own'), SNAPSHOT_CACHE_DIR: snapshots }]
  ] as const) {
    const { code, stderr } = await runCommandLine(['sync', '--no-guardian'], { ...second, ...env });
    assert.equal(code, 73, stderr);
    const words = `${variable}=${directory} is in use by process ${server.child.pid} on \\S+: set ${variable} to a directory of its own`;
    assert.match(stderr, new RegExp(words));
    assert.match(stderr, /holder=the sync server with SYNC_API_PORT=\d+/);
  }
  await stands(server, 104);
  await server.end('SIGKILL');
  const successor = await startSyncProcess({ ...common, SYNC_MODE: 'server', SYNC_STATE_DIR: state });
  await stands(successor, 104);
  await successor.end();
});

test('a server that starts on another database of the same name believes nothing that was kept of the first one', async () => {
  const source = await createDatabase('replaced');
  await createIndexer(source, { seed: 'a', blocks: 300, rows: 1_000 });
  const hub = await openTestHub();
  await hub.name([['indexer', source]]);
  const env = {
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hub.port,
    SYNC_MODE: 'server',
    SYNC_STATE_DIR: temporaryDirectory('replaced'),
    BLOCK_POLL_INTERVAL: 50
  };
  const first = await startSyncProcess(env);
  await stands(first, 399);
  await stands(first, await appendBlocks(source, 2, 'a'));
  await first.end();
  await sql(source, `DROP DATABASE ${source.name}`, `CREATE DATABASE ${source.name}`);
  await createIndexer(source, { seed: 'b', blocks: 310, rows: 1_000 });
  const second = await startSyncProcess(env);
  await stands(second, 409);
  assert.match(second.log(), /the saved resume point belongs to another database .*: starting at the tip/);
  assert.doesNotMatch(second.log(), /reorg/);
  await stands(second, await appendBlocks(source, 1, 'b'));
  await second.end();
});
