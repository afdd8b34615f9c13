import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createExplored } from '../support/explorer-database.ts';
import { runExplorer } from '../support/explorer-process.ts';
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

test('a hub that answers with no configuration, or with hardly any of it, stops no explorer and no sync server, which say so', async (t) => {
  const { indexer, decoder, store } = await createExplored();
  t.after(() => store.close());
  const place = ({ host, port, name, user, pass }: DatabaseCoordinates) => ({
    db_host: host,
    db_port: String(port),
    name,
    user,
    pass
  });
  const chains = ['bitcoin', 'litecoin', 'dogecoin'];
  const decoders = await Promise.all(chains.map(() => createDatabase('kept')));
  for (const each of decoders) await createDecoder(each, { seed: each.name, blocks: 5, rows: 50 });
  // A sync server serves no database under two names, so each service has a hub of its own.
  const explored = chains.map((chain) => ({
    [chain]: { regtest: { 'platform-indexer': place(indexer), 'platform-decoder': place(decoder) } }
  }));
  const synced = chains.map((chain, at) => decoderOf(chain, decoders[at]!));
  let named = chains.length;
  const asked = [0, 0];
  const hubs = await Promise.all(
    [explored, synced].map((all, at) =>
      startBareHub(() => {
        asked[at]!++;
        return Object.assign({}, ...all.slice(0, named));
      })
    )
  );
  for (const { stop } of hubs) t.after(stop);
  const envOf = (hub: { readonly port: number }) => ({
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: String(hub.port),
    HUB_REPOLL_INTERVAL: '200'
  });
  const explorer = await runExplorer({ ...envOf(hubs[0]!), EXPLORER_RATE_LIMIT_RPM: '100000' });
  const server = await startSyncProcess({ ...envOf(hubs[1]!), SYNC_MODE: 'server' });
  const isServed = async () => {
    const answers = await Promise.all([
      ...['RBTC', 'RLTC', 'RDOGE'].map(async (code) => (await fetch(`${explorer.url}/${code}/api/blocks`)).status),
      ...chains.map(async (chain) => (await server.get(`/status/decoder/${chain}/regtest`)).status)
    ]);
    return answers.every((status) => status === 200);
  };
  const logs = () => [explorer.output(), server.log()] as const;
  await eventually('all is served', isServed);
  for (const few of [0, 1]) {
    const before = logs().map(({ length }) => length);
    named = few;
    const warning = /the hub no longer names [23] of 3 that it named: they are kept for \d+ s more/;
    await eventually('both say that they doubt it', async () =>
      logs().every((log, at) => warning.test(log.slice(before[at])))
    );
    assert.ok(await isServed(), 'what was known is kept');
    named = chains.length;
    const counts = [...asked];
    await eventually('both have asked again', 60_000, async () => asked.every((count, at) => count >= counts[at]! + 2));
    assert.ok(await isServed());
  }
  assert.doesNotMatch(server.log(), /no longer names this database/);
  await server.end();
  assert.equal(await explorer.stop(), 0);
});
