import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase, dropAfterwards } from '../support/mariadb.ts';
import { createDecoder } from '../support/sync/generated-decoder.ts';
import { openTestHub } from '../support/sync/sync-pair.ts';
import {
  eventually,
  replicasAt,
  type SyncProcess,
  startSyncProcess,
  temporaryDirectory
} from '../support/sync/sync-process.ts';

const decoderOf = (chain: string, { host, port, name, user, pass }: DatabaseCoordinates) => ({
  [chain]: { regtest: { 'other-decoder': { host, port: String(port), name, user, pass } } }
});

/** A hub that answers with a bare tree, which is the whole truth each time. */
async function startBareHub(tree: () => object) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: tree() })));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, stop };
}

test('databases appear and go without a restart, hubs are tried in their order, and hubs that go away change nothing', async (t) => {
  const source = await createDatabase('watched');
  const other = await createDatabase('watched_too');
  for (const database of [source, other]) await createDecoder(database, { seed: 'watch', blocks: 5, rows: 50 });
  let tree: object = { ...decoderOf('litecoin', source), ...decoderOf('dogecoin', other) };
  const first = await openTestHub();
  const second = await startBareHub(() => tree);
  t.after(second.stop);
  const server = await startSyncProcess({
    SYNC_MODE: 'server',
    HUB_VALIDATORS: `127.0.0.1:${first.port},127.0.0.1:${second.port}`,
    HUB_REPOLL_INTERVAL: 200
  });
  const answers = (chain: string, status: number) =>
    eventually(`${chain} answers ${status}`, async () => {
      return (await server.get(`/status/decoder/${chain}/regtest`)).status === status;
    });

  await answers('litecoin', 404); // the first hub names none, and the second is not asked
  assert.match(server.log(), /no indexer databases found in hub config/);
  await first.name([['decoder', source]]);
  await answers('litecoin', 200); // a node with decoders only serves what there is
  await answers('dogecoin', 404);

  await first.stop();
  await answers('dogecoin', 200);
  await answers('litecoin', 200);
  tree = decoderOf('dogecoin', other);
  await answers('litecoin', 404);
  assert.match(server.log(), /no longer names this database/);

  second.stop();
  await eventually('the hubs are missed', async () => /error connecting to the hub/.test(server.log()));
  await answers('dogecoin', 200);
  await server.end();
  assert.equal(server.child.exitCode, 0);
});

test('a client that starts while the hub is away goes on with the databases that it named last', async () => {
  const source = await createDatabase('remembered');
  await createDecoder(source, { seed: 'remembered', blocks: 5, rows: 50 });
  const hub = await startBareHub(() => decoderOf('litecoin', source));
  const env = {
    SYNC_MODE: 'client',
    SYNC_SOURCES: 'http://127.0.0.1:9',
    REPLICA_DB_PREFIX: 'r_',
    ...replicasAt(source),
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hub.port,
    SYNC_STATE_DIR: temporaryDirectory('known')
  };
  dropAfterwards(source, `r_${source.name}`);
  const isServed = (client: SyncProcess) =>
    eventually('the database is served', async () => {
      const { status, body } = await client.get('/debug/actors');
      return status === 200 && Array.isArray(body) && body.length === 1;
    });
  const first = await startSyncProcess(env);
  await isServed(first);
  await first.end();
  hub.stop();
  const second = await startSyncProcess(env);
  await isServed(second);
  assert.match(second.log(), /the hub does not answer: using its last list of databases/);
  await second.end();
});
