import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { connect } from '../../src/db/connection.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { atEnd } from '../support/cleanup.ts';
import { startCollector } from '../support/collector.ts';
import { startTestEncoder } from '../support/encoder/service.ts';
import { krakenAnswer, startPriceService } from '../support/hub/price-service.ts';
import { runHub } from '../support/hub/run-hub.ts';
import { openLink } from '../support/link.ts';
import { createDatabase, dropAfterwards } from '../support/mariadb.ts';
import { readRules, startPrometheus } from '../support/prometheus.ts';
import { addEmptyBlock, sql } from '../support/sql.ts';
import { createDecoder } from '../support/sync/generated-decoder.ts';
import { appendBlocks, createIndexer } from '../support/sync/generated-indexer.ts';
import { TestNats } from '../support/sync/nats.ts';
import { openTestHub, PAIR_KEY, startPair } from '../support/sync/sync-pair.ts';
import { eventually, replicasAt, startSyncProcess, temporaryDirectory } from '../support/sync/sync-process.ts';

const DATABASE = 'indexer/litecoin/regtest';
const KEY = 'key-of-an-operator';
/** Disk that is enough for snapshots, and then is not. */
const [AMPLE, SHORT] = ['1200m', '16m'];

/** Whether a small disk can be mounted; without one, two of the alerts are not shown. */
const MAY_MOUNT = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'disk', '/mnt']).status === 0;

/** Server and client as processes, with a link before the server's database, and one between them. */
async function startFrontDoor() {
  const source = await createDatabase('operations');
  await createIndexer(source, { seed: 'operations', blocks: 20, rows: 400 });
  await sql(
    source,
    'CREATE TABLE bulk (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT UNSIGNED NOT NULL, body MEDIUMTEXT)'
  );
  const replica = { ...source, name: `replica_${source.name}` };
  dropAfterwards(source, replica.name);
  const databaseLink = await openLink(`http://127.0.0.1:${source.port}`);
  const collector = await startCollector();
  const hub = await openTestHub();
  await hub.name([['indexer', { ...source, port: Number(new URL(databaseLink.url).port) }]]);
  const common = {
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hub.port,
    HUB_REPOLL_INTERVAL: 300,
    SYNC_API_KEY: KEY,
    CIRCUIT_FAILURES: 3,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url
  };
  const snapshots = temporaryDirectory('small-disk');
  const server = await startSyncProcess(
    {
      ...common,
      SYNC_MODE: 'server',
      BLOCK_POLL_INTERVAL: 50,
      SNAPSHOT_CACHE_DIR: snapshots,
      WS_BACKPRESSURE_MAX_BYTES: 256 * 2 ** 20
    },
    [],
    // A disk of its own, whose size can be changed.
    MAY_MOUNT
      ? [
          'unshare',
          '-rm',
          'sh',
          '-c',
          `mount -t tmpfs -o size=${AMPLE},mode=0700 disk '${snapshots}' && exec "$0" "$@"`
        ]
      : []
  );
  const sourceLink = await openLink(server.url);
  const client = await startSyncProcess({
    ...common,
    SYNC_MODE: 'client',
    SYNC_SOURCES: sourceLink.url,
    ...replicasAt(source),
    REPLICA_DB_PREFIX: 'replica_',
    CLIENT_RECONNECT_DELAY: 200
  });
  const statusOf = async ({ get }: typeof client) => (await get(`/status/${DATABASE}`)).body;
  const isLive = (height: number) =>
    eventually(`the client is live at ${height}`, async () => {
      const { phase, block_height } = await statusOf(client);
      return phase === 'live' && block_height === height;
    });
  const shrinkDisk = () => {
    const words = ['-t', String(server.child.pid), '-U', '-m', '--preserve-credentials'];
    const { status, stderr } = spawnSync('nsenter', [...words, 'mount', '-o', `remount,size=${SHORT}`, snapshots]);
    assert.equal(status, 0, String(stderr));
  };
  return { source, replica, hub, server, client, collector, databaseLink, sourceLink, isLive, shrinkDisk };
}

const frontDoor = await startFrontDoor();

test('with OTEL_EXPORTER_OTLP_ENDPOINT, requests, snapshots and blocks are traced in both processes', async () => {
  const { source, server, client, collector, isLive } = frontDoor;
  await isLive(119);
  const height = await appendBlocks(source, 1, 'traced');
  await isLive(height);
  await server.get(`/status/${DATABASE}`);
  const find = (name: string, holds: (attributes: Readonly<Record<string, string | number>>) => boolean = () => true) =>
    collector.spans.find((span) => span.name === name && holds(span.attributes));
  const isOk = (attributes: Readonly<Record<string, string | number>>) =>
    attributes['http.response.status_code'] === 200;
  const isLast = (attributes: Readonly<Record<string, string | number>>) => attributes['sync.last'] === height;
  const wanted = [
    ['GET /status/:dbType/:chain/:network', isOk],
    ['GET /snapshot/:dbType/:chain/:network', isOk],
    ['blocks.serve', isLast],
    ['blocks.apply', isLast],
    ['replica.bootstrapping', () => true]
  ] as const;
  // A span comes when it has ended, after those within it.
  const came = () => wanted.every(([name, holds]) => find(name, holds));
  await eventually(`spans came: ${wanted.map(([name]) => name)}`, async () => came());

  const request = find('GET /status/:dbType/:chain/:network', isOk)!;
  assert.equal(request.parentSpanId, undefined);
  const build = find('snapshot.build')!;
  const asked = collector.spans.find(({ spanId }) => spanId === build.parentSpanId);
  assert.equal(asked?.name, 'GET /snapshot/:dbType/:chain/:network');
  assert.equal(build.attributes['sync.database'], DATABASE);

  const serve = find('blocks.serve', isLast)!;
  assert.equal(serve.service, 'platform-node sync server');
  assert.equal(serve.attributes['sync.database'], DATABASE);
  for (const name of ['blocks.read', 'blocks.send'])
    assert.ok(
      collector.spans.some((span) => span.name === name && span.parentSpanId === serve.spanId),
      name
    );
  const apply = find('blocks.apply', isLast)!;
  assert.equal(apply.service, 'platform-node sync client');
  assert.ok(Number(apply.attributes['sync.rows']) > 0);
  const write = collector.spans.find((span) => span.name === 'blocks.write' && span.parentSpanId === apply.spanId);
  assert.ok(write && write.traceId === apply.traceId && write.ms <= apply.ms);
  const loading = find('replica.bootstrapping.loading')!;
  const bootstrap = collector.spans.find(({ spanId }) => spanId === loading.parentSpanId);
  assert.equal(bootstrap?.name, 'replica.bootstrapping');
  assert.ok(!collector.spans.some(({ name }) => name.includes('/health')), 'probes are not traced');
  assert.equal((await client.get('/health')).status, 200);
});

test('each alert of ops/alerts.yml fires in the real failure that it is for, and none before', async (t) => {
  const { source, replica, hub, server, client, databaseLink, sourceLink, isLive, shrinkDisk } = frontDoor;
  const prometheus = await startPrometheus([server.url, client.url], KEY);
  await sleep(1_500); // three rounds of scraping and judging
  assert.deepEqual(await prometheus.firing(), []);
  const tell = (of: typeof client, action: string) => of.post(`/debug/actors/${DATABASE}/${action}`);

  // A hand in the replica, found by a comparison.
  await sql(replica, 'UPDATE blocks SET block_time = block_time + 1 LIMIT 1');
  await tell(client, 'verify');
  await prometheus.fires('PlatformDiscrepancy');

  // The replica cannot write while its source goes on.
  const holder = await connect(replica);
  atEnd(() => holder.end());
  await holder.query('LOCK TABLES blocks WRITE');
  const height = await appendBlocks(source, 6, 'behind', 400);
  await prometheus.fires('PlatformLagGrowing');
  await holder.query('UNLOCK TABLES');
  await isLive(height);

  sourceLink.block();
  await prometheus.fires('PlatformSourceDown');
  sourceLink.open();
  await isLive(height);

  await sql(replica, "INSERT INTO sync_halt (id, reason, detected_at) VALUES (1, 'halted by a test', NOW(6))");
  await tell(client, 'restart');
  await prometheus.fires('PlatformReplicaHalted');

  // It dies again and again.
  for (let death = 0; death < 6; death++) {
    await eventually('the actor runs', async () => {
      const { body } = await client.get('/debug/actors');
      return (body as unknown as { state: string }[])[0]?.state === 'running';
    });
    await tell(client, 'kill');
  }
  await prometheus.fires('PlatformRestartLoop');
  await client.end('SIGKILL');
  await prometheus.fires('PlatformServiceGone');

  // A reader who takes nothing of a large block.
  const reader = new WebSocket(`${server.url.replace('http', 'ws')}/subscribe/${DATABASE}`, {
    headers: { authorization: `Bearer ${KEY}` }
  });
  atEnd(async () => reader.terminate());
  await new Promise((resolve) => reader.once('message', resolve));
  reader.pause();
  const rows = Array.from({ length: 30 }, () => `(${height + 1}, REPEAT('x', 1000000))`).join();
  await sql(source, `INSERT INTO bulk (block_index, body) VALUES ${rows}`);
  await addEmptyBlock(source);
  await prometheus.fires('PlatformSlowSubscriber');
  reader.terminate();

  if (MAY_MOUNT) {
    shrinkDisk();
    await prometheus.fires('PlatformDiskFull');
    for (let attempt = 0; attempt < 3; attempt++)
      assert.notEqual((await server.get(`/snapshot/${DATABASE}`)).status, 200);
    await prometheus.fires('PlatformSnapshotStuck');
  } else t.diagnostic('nothing may be mounted here: PlatformDiskFull and PlatformSnapshotStuck are not shown');

  // MariaDB neither answers nor refuses.
  databaseLink.hold(20_000);
  await prometheus.fires('PlatformSilent');
  databaseLink.block();
  await prometheus.fires('PlatformCircuitOpen');
  await prometheus.fires('PlatformSyncNotReady');
  await hub.stop();
  await prometheus.fires('PlatformHubDown');
  // A service of a coin node that is away.
  const away = { url: `http://127.0.0.1:${await freePort()}`, user: 'u', password: 'p' };
  const encoder = await startTestEncoder(away, { apiKey: KEY });
  atEnd(() => encoder.close());
  await (await startPrometheus([encoder.url], KEY)).fires('PlatformServiceUnusable');
  // A hub whose one source of prices answers once, and then no more.
  let answers = true;
  const prices = await startPriceService((_, response) => {
    if (answers) response.end(JSON.stringify(krakenAnswer(64_000)));
    else response.writeHead(503).end();
  });
  const oracle = await runHub({
    HUB_API_KEY: KEY,
    PRICE_SOURCES: 'kraken',
    PRICE_SOURCE_KRAKEN_URL: prices.url,
    ORACLE_ROUND_INTERVAL: '1000'
  });
  atEnd(oracle.stop);
  const rounds = await startPrometheus([oracle.url], KEY);
  await eventually('a round is kept', async () => prices.requests.length > 1);
  await eventually('no alert fires', async () => (await rounds.firing()).length === 0);
  answers = false;
  await rounds.fires('PlatformOracleSources');
  await rounds.fires('PlatformOracleStale');
  // A hub of a set whose other one is away.
  const set = join(temporaryDirectory('set'), 'federation.json');
  const [own, other] = ['01', '02'].map((digits) => digits.repeat(32)) as [string, string];
  const [ownPort, otherPort] = [await freePort(), await freePort()];
  const members = [
    { pubkey: signingKey(own).pubkey, addr: `127.0.0.1:${ownPort}` },
    { pubkey: signingKey(other).pubkey, addr: `127.0.0.1:${otherPort}` }
  ];
  writeFileSync(set, JSON.stringify({ members }));
  const member = await runHub({
    HUB_API_KEY: KEY,
    HUB_FEDERATION: set,
    SIGNING_PRIVKEY_HEX: own,
    P2P_VALIDATOR_ADDR: members[0]!.addr,
    P2P_PORT: String(ownPort),
    ORACLE_EPOCH_START: '1'
  });
  atEnd(member.stop);
  const hubs = await startPrometheus([member.url], KEY);
  await hubs.fires('PlatformSetUndecided');
  await hubs.fires('PlatformSetMember');
  // A server whose NATS is away.
  const nats = await TestNats.start();
  const published = await createDatabase('operations_published');
  await createDecoder(published, { seed: 'published', blocks: 5, rows: 10 });
  const pair = await startPair('decoder', published, { SYNC_NATS_URL: nats.url });
  const streams = await startPrometheus([pair.server.url], PAIR_KEY);
  await eventually('all is published', async () => {
    const { relay } = (await pair.server.get('/health')).body as { relay: { state: string; waiting: number }[] };
    return relay[0]?.state === 'publishing' && relay[0].waiting === 0;
  });
  assert.deepEqual(await streams.firing(), []);
  await nats.end();
  await streams.fires('PlatformStreamBehind');
  // Somebody guesses keys.
  const guess = (n: number) => fetch(`${oracle.url}/metrics`, { headers: { 'x-api-key': `guess ${n}` } });
  await guess(0);
  await sleep(1_500); // it was scraped
  await Promise.all(Array.from({ length: 30 }, (_, n) => guess(n)));
  await rounds.fires('PlatformWrongKeys');
  assert.equal(readRules().groups.flatMap(({ rules }) => rules).length, 21);
});
