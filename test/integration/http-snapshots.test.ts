import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { connect, rows } from '../../src/db/connection.ts';
import { PlatformError } from '../../src/errors.ts';
import { silentLogger } from '../../src/log.ts';
import { ArtifactStore, resourceOf, type SnapshotSource, type TaskRunner } from '../../src/snapshot/artifact-store.ts';
import type { BuildInput, BuildProgress } from '../../src/snapshot/build-messages.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import type { SnapshotQuery } from '../../src/wire/snapshot.ts';
import { createDatabase } from '../support/mariadb.ts';
import { type House, type HouseOptions, openHouse } from '../unit/http-house.ts';
import { FULL, INDEXER, openPool, orderOf } from './snapshot-support.ts';

const PATH = '/snapshot/indexer/bitcoin/regtest';
const pool = openPool();

/** A table of some megabytes that compress badly, and one after it that a test can lock to hold a build in mid-stream. */
async function database(megabytes = 2): Promise<DatabaseCoordinates> {
  const coordinates = await createDatabase('artifact');
  await run(
    coordinates,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT, ledger_hash CHAR(64), actions_hash CHAR(64), contract_hash CHAR(64))',
    'INSERT INTO blocks SELECT seq, seq, SHA2(seq, 256), SHA2(seq + 1, 256), NULL FROM seq_1_to_9',
    'CREATE TABLE bulk (id INT PRIMARY KEY, noise TEXT)',
    `INSERT INTO bulk SELECT seq, CONCAT(SHA2(seq, 512), SHA2(-seq, 512)) FROM seq_1_to_${megabytes * 3600}`,
    'CREATE TABLE zz_gate (id INT PRIMARY KEY)',
    'INSERT INTO zz_gate VALUES (1)'
  );
  return coordinates;
}

async function run(coordinates: DatabaseCoordinates, ...statements: string[]): Promise<void> {
  const connection = await connect(coordinates);
  for (const statement of statements) await connection.query(statement);
  await connection.end();
}

interface Site extends House {
  readonly place: { readonly host: string; readonly port: number };
  /** Builds that were begun. */
  readonly builds: () => number;
  /** Makes the next order another one, as a new block does. */
  readonly newBlock: () => void;
  /** Ends the threads of running builds. */
  readonly killBuilds: () => void;
}

/** The front door with real builds on the pool. */
async function open(coordinates: DatabaseCoordinates, options: HouseOptions = {}): Promise<Site> {
  let begun = 0;
  let tip = 9;
  let killer = new AbortController();
  const tasks: TaskRunner = {
    run: (name, input, { signal, transfer = [] } = {}) => {
      begun++;
      return pool.run(name, input, { transfer, signal: AbortSignal.any([killer.signal, ...(signal ? [signal] : [])]) });
    }
  };
  const house = await openHouse({
    tasks,
    answers: {
      'snapshot.describe': ({ query }: { query: SnapshotQuery }) => {
        if (query.since === 1_000) throw new PlatformError('BLOCKS_CAUGHT_UP', {});
        if (query.since === 2_000) throw new PlatformError('BLOCKS_EMPTY', {});
        return { key: `tip ${tip}`, id: INDEXER, coordinates, query, localTables: [] };
      }
    },
    ...options
  });
  await house.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = house.app.server.address() as { port: number };
  return {
    ...house,
    place: { host: '127.0.0.1', port },
    builds: () => begun,
    newBlock: () => tip++,
    killBuilds: () => {
      killer.abort(new Error('killed'));
      killer = new AbortController();
    }
  };
}

async function get({ place }: Site, headers: Record<string, string> = {}, path = PATH, method = 'GET') {
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>();
  request({ ...place, path, method, headers, agent: false })
    .on('response', resolve)
    .on('error', reject)
    .end();
  const response = await promise;
  return { status: response.statusCode, headers: response.headers, response, body: () => buffer(response) };
}

async function download(site: Site, headers: Record<string, string> = {}, path = PATH) {
  const answer = await get(site, headers, path);
  return { ...answer, bytes: await answer.body() };
}

/** Holds a table's metadata lock, at which a build waits. */
async function closeGate(coordinates: DatabaseCoordinates): Promise<() => Promise<void>> {
  const connection = await connect(coordinates);
  await connection.query('LOCK TABLES zz_gate WRITE');
  return async () => connection.destroy();
}

async function waitForBuild(coordinates: DatabaseCoordinates): Promise<number> {
  const connection = await connect(coordinates);
  try {
    for (let tries = 0; tries < 1_000; tries++) {
      const [found] = await rows<{ id: number }>(
        connection,
        "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE '/* platform-snapshot %zz_gate%'",
        [coordinates.name]
      );
      if (found) return found.id;
      await sleep(10);
    }
    throw new Error('no build waits at the gate');
  } finally {
    await connection.end();
  }
}

/** Builds that have a statement at the database. */
async function countBuilds({ name, ...server }: DatabaseCoordinates): Promise<number> {
  const connection = await connect(server);
  const [row] = await rows(
    connection,
    "SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE '/* platform-snapshot %zz_gate%'",
    [name]
  );
  await connection.end();
  return Number(row?.['n']);
}

test('eight requests at once share one build; a finished artifact has its length, 304, ranges and 416', async () => {
  const site = await open(await database(), { config: { SNAPSHOT_RATE_FULL: 100 } });
  const all = await Promise.all(Array.from({ length: 8 }, () => download(site)));
  assert.equal(site.builds(), 1);
  const [first] = all;
  assert.ok(first);
  for (const { status, headers, bytes } of all) {
    assert.equal(status, 200);
    assert.equal(headers.etag, first.headers.etag);
    assert.ok(bytes.equals(first.bytes));
    assert.equal(headers['content-encoding'], 'gzip');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['x-block-height'], '9');
    assert.match(String(headers['x-ledger-hash']), /^[0-9a-f]{64}$/);
    assert.equal('x-contract-hash' in headers, false);
  }
  assert.equal(JSON.parse(gunzipSync(first.bytes).toString()).tables.bulk.length, 7200);

  const etag = String(first.headers.etag);
  const size = first.bytes.length;
  const again = await download(site, {
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABk'
  });
  assert.ok(again.bytes.equals(first.bytes), 'an offer of HTTP/2 changes nothing');
  assert.equal(again.headers['content-length'], String(size));
  assert.equal(again.headers['accept-ranges'], 'bytes');
  assert.equal((await download(site, { 'if-none-match': etag })).status, 304);
  const part = await download(site, { range: 'bytes=100-199' });
  assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes 100-199/${size}`]);
  assert.ok(part.bytes.equals(first.bytes.subarray(100, 200)));
  const tail = await download(site, { range: 'bytes=-50', 'if-range': etag });
  assert.ok(tail.bytes.equals(first.bytes.subarray(size - 50)));
  assert.equal((await download(site, { range: 'bytes=5-', 'if-range': '"other"' })).status, 200);
  const beyond = await download(site, { range: `bytes=${size}-` });
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, `bytes */${size}`]);
  const head = await get(site, {}, PATH, 'HEAD');
  assert.deepEqual([head.status, head.headers['content-length'], head.headers.etag], [200, String(size), etag]);
  assert.equal(site.builds(), 1);

  site.newBlock();
  const resumed = await download(site, { range: 'bytes=100-', 'if-range': etag });
  assert.equal(resumed.status, 206, 'the file that the download began with is still there');
  assert.ok(resumed.bytes.equals(first.bytes.subarray(100)));
  assert.equal(site.builds(), 1);
  const fresh = await download(site);
  assert.notEqual(fresh.headers.etag, etag);
  assert.equal(site.builds(), 2);
  assert.equal((await download(site, { 'if-none-match': etag })).status, 200);
});

test('HEAD never starts a build', async () => {
  const site = await open(await database(1));
  const head = await get(site, {}, PATH, 'HEAD');
  assert.equal(head.status, 200);
  assert.equal(head.headers['x-snapshot-schema-version'], '7');
  assert.equal(site.builds(), 0);
});

test('a growing artifact is streamed, ranges of it are served for the bytes that exist', async () => {
  const coordinates = await database(4);
  const site = await open(coordinates);
  const openGate = await closeGate(coordinates);
  const growing = await get(site);
  assert.equal(growing.status, 200);
  assert.equal('content-length' in growing.headers, false);
  await waitForBuild(coordinates);
  await sleep(200);
  const etag = String(growing.headers.etag);
  const part = await download(site, { range: 'bytes=10-', 'if-range': etag });
  assert.equal(part.status, 206);
  assert.match(String(part.headers['content-range']), /^bytes 10-\d+\/\*$/);
  assert.ok(part.bytes.length > 500_000, `${part.bytes.length} bytes are there`);
  const leaver = await get(site);
  leaver.response.destroy();
  await openGate();
  const whole = await growing.body();
  assert.ok(part.bytes.equals(whole.subarray(10, 10 + part.bytes.length)));
  assert.equal(JSON.parse(gunzipSync(whole).toString()).tables.zz_gate.length, 1);
  assert.equal(site.builds(), 1);
  const artifact = site.artifacts.findTagged(resourceOf({ id: INDEXER, query: FULL }), etag);
  for (let tries = 0; artifact?.inUse !== false; tries++) {
    assert.ok(tries < 200, 'readers that left let go of it');
    await sleep(10);
  }
});

test('a body ends when no group can begin before its source is told what the readers stand on', async () => {
  const told: string[] = [];
  const [isHeld, isNoted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const source: SnapshotSource = {
    hold: async (_, __, height) => {
      told.push(`hold ${height}`);
      await isHeld.promise;
    },
    note: async (_, __, standing) => {
      told.push(`note ${standing?.height}, ${Object.keys(standing?.tables ?? {}).length} tables`);
      isNoted.resolve();
    }
  };
  const site = await open(await database(1), { store: { source } });
  const growing = await get(site);
  const etag = String(growing.headers.etag);
  for (let tries = 0; told.length === 0; tries++) {
    assert.ok(tries < 500, 'the body is written');
    await sleep(10);
  }
  assert.equal(site.artifacts.findTagged(resourceOf({ id: INDEXER, query: FULL }), etag)?.complete, false);
  isHeld.resolve();
  gunzipSync(await growing.body());
  await isNoted.promise;
  assert.deepEqual(told, ['hold 9', 'note 9, 2 tables']);
  assert.equal((await download(site)).headers.etag, etag);
});

test('a build that dies when its body is out lets groups go on, and its artifact is shared no more', async () => {
  const [isHeld, isNoted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tasks: TaskRunner = {
    run: async (_, input) => {
      const { path, progress } = input as BuildInput;
      writeFileSync(path, 'body');
      progress.postMessage({ type: 'opened', headers: {} } satisfies BuildProgress);
      progress.postMessage({ type: 'written', sizeBytes: 4, settledAt: 9 } satisfies BuildProgress);
      await isHeld.promise;
      throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'gone' });
    }
  };
  const noted: unknown[] = [];
  const source: SnapshotSource = {
    hold: async () => isHeld.resolve(),
    note: async (_, __, standing) => {
      noted.push(standing);
      isNoted.resolve();
    }
  };
  const { artifacts, directory } = await openHouse({ tasks, store: { source } });
  const order = orderOf({ host: 'nowhere', port: 1, name: 'none', user: 'none', pass: 'none' });
  const artifact = await artifacts.obtain(order, 'gzip');
  await artifact.whenBeyond(3);
  await isNoted.promise;
  assert.deepEqual(noted, [null]);
  assert.equal(artifact.complete, true);
  assert.equal(artifacts.find(order, 'gzip'), undefined);
  for (let tries = 0; readdirSync(directory).length > 0; tries++) {
    assert.ok(tries < 500, 'its file goes');
    await sleep(10);
  }
});

for (const [name, kill] of [
  ['the database connection', async (coordinates: DatabaseCoordinates, id: number) => run(coordinates, `KILL ${id}`)],
  ['the thread', async (_: DatabaseCoordinates, __: number, site: Site) => site.killBuilds()]
] as const)
  test(`a build whose ${name} is killed ends its downloads, and the next request builds anew`, async () => {
    const coordinates = await database(4);
    const site = await open(coordinates);
    const openGate = await closeGate(coordinates);
    const { status, body } = await get(site);
    assert.equal(status, 200);
    const failing = assert.rejects(body(), { code: 'ECONNRESET' });
    await kill(coordinates, await waitForBuild(coordinates), site);
    await failing;
    await openGate();
    const next = await download(site);
    assert.equal(JSON.parse(gunzipSync(next.bytes).toString()).tables.bulk.length, 14_400);
    assert.equal(site.builds(), 2);
    assert.equal(readdirSync(site.directory).length, 1, 'the failed file is gone');
  });

test('503 SNAPSHOT_BUSY with Retry-After beyond the builds at once; 503 SNAPSHOT_FAILED when a build cannot begin', async () => {
  const coordinates = await database(1);
  const site = await open(coordinates, { store: { maxBuilds: 1 } });
  const openGate = await closeGate(coordinates);
  const first = download(site);
  await waitForBuild(coordinates);
  const busy = await download(site, {}, `${PATH}/since/3`);
  assert.equal(busy.status, 503);
  assert.equal(JSON.parse(busy.bytes.toString()).code, 'SNAPSHOT_BUSY');
  assert.ok(busy.headers['retry-after']);
  await openGate();
  assert.equal((await first).status, 200);
  assert.equal((await download(site, {}, `${PATH}/since/3`)).status, 200);
  const broken = await open({ ...coordinates, name: 'no_such_database' });
  const failed = await download(broken);
  assert.equal(failed.status, 503);
  assert.doesNotMatch(failed.bytes.toString(), /no_such_database/);
});

test('200 in zstd for a client that prefers it: an artifact of its own with its own ETag; everyone else gets gzip', async () => {
  const site = await open(await database(1));
  const zstd = { 'accept-encoding': 'zstd, gzip;q=0.5' };
  const [first, second] = await Promise.all([download(site, zstd), download(site, zstd)]);
  assert.equal(site.builds(), 1);
  assert.ok(first.bytes.equals(second.bytes));
  assert.equal(first.headers['content-encoding'], 'zstd');
  const plain = await download(site, { 'accept-encoding': 'gzip, deflate, br, zstd' });
  assert.equal(plain.headers['content-encoding'], 'gzip');
  assert.equal(site.builds(), 2);
  assert.ok(zstdDecompressSync(first.bytes).equals(gunzipSync(plain.bytes)));
  for (const { headers } of [first, plain]) assert.equal(headers.vary, 'Accept-Encoding');
  const [etag, gzipTag] = [String(first.headers.etag), String(plain.headers.etag)];
  assert.match(etag, /^"[0-9a-f]{32}-zstd"$/);
  assert.match(gzipTag, /^"[0-9a-f]{32}-gzip"$/);
  assert.equal((await download(site, { ...zstd, 'if-none-match': etag })).status, 304);
  assert.equal((await download(site, { ...zstd, 'if-none-match': gzipTag })).status, 200);
  const head = await get(site, zstd, PATH, 'HEAD');
  assert.deepEqual([head.headers.etag, head.headers['content-length']], [etag, String(first.bytes.length)]);
  site.newBlock();
  const resumed = await download(site, { ...zstd, range: 'bytes=100-', 'if-range': etag });
  assert.equal(resumed.status, 206);
  assert.ok(resumed.bytes.equals(first.bytes.subarray(100)));
  assert.equal(site.builds(), 2);
  const other = await download(site, { range: 'bytes=100-', 'if-range': etag });
  assert.deepEqual([other.status, other.headers['content-encoding']], [200, 'gzip'], 'the tag is of another coding');
});

for (const [name, store] of [
  ['longer than its budget', { budgetMs: 1_000 }],
  ['without progress', { stallMs: 500, budgetMs: 3_000 }]
] as const)
  test(`a build ${name} is ended, its downloads are cut, and its statement at the database ends too`, async () => {
    const coordinates = await database(1);
    const site = await open(coordinates, { store });
    const openGate = await closeGate(coordinates);
    const { status, body } = await get(site);
    // On a machine with much else to do the time may be over before the first byte.
    if (status === 200) await assert.rejects(body(), { code: 'ECONNRESET' });
    else assert.equal(status, 503);
    assert.equal(readdirSync(site.directory).length, 0, 'the failed file is gone');
    for (let tries = 0; (await countBuilds(coordinates)) > 0; tries++) {
      assert.ok(tries < 500, 'the gate is closed still, but nobody waits at it');
      await sleep(20);
    }
    await openGate();
  });

test('503 SNAPSHOT_BUSY beyond two builds at one database server, however many this process may build', async () => {
  const coordinates = await database(1);
  const site = await open(coordinates, { store: { maxBuilds: 10 } });
  const openGate = await closeGate(coordinates);
  const two = [download(site), download(site, {}, `${PATH}/since/3`)];
  for (let tries = 0; (await countBuilds(coordinates)) < 2; tries++) {
    assert.ok(tries < 500, 'both wait at the gate');
    await sleep(20);
  }
  const third = await download(site, {}, `${PATH}/since/4`);
  assert.deepEqual([third.status, JSON.parse(third.bytes.toString()).code], [503, 'SNAPSHOT_BUSY']);
  await openGate();
  for (const { status } of await Promise.all(two)) assert.equal(status, 200);
});

test('503 DISK_FULL before a build that the disk may not hold', async () => {
  const site = await open(await database(1), { store: { minFreeBytes: 2 ** 60 } });
  const refused = await download(site);
  assert.deepEqual([refused.status, JSON.parse(refused.bytes.toString()).code], [503, 'DISK_FULL']);
  assert.ok(refused.headers['retry-after']);
  assert.equal(site.builds(), 0);
});

test('an artifact that is too old is shared no more, though nothing has changed', async () => {
  const site = await open(await database(1), { store: { maxAgeMs: 1 } });
  const { headers } = await download(site);
  const etag = String(headers.etag);
  assert.notEqual((await download(site)).headers.etag, etag);
  assert.equal(site.builds(), 2);
  assert.equal(
    (await download(site, { range: 'bytes=5-', 'if-range': etag })).status,
    206,
    'but goes on where it was begun'
  );
});

test('429 RATE_LIMITED: bodies count; 304, ranges of what was begun, 4xx and 503 do not', async () => {
  const site = await open(await database(1), { config: { SNAPSHOT_RATE_FULL: 2, SNAPSHOT_RATE_INCR: 1 } });
  const { headers } = await download(site);
  const etag = String(headers.etag);
  assert.equal(headers['ratelimit-policy'], '"snapshot-full";q=2;w=3600');
  for (let n = 0; n < 4; n++) {
    assert.equal((await download(site, { 'if-none-match': etag })).status, 304);
    assert.equal((await download(site, { range: 'bytes=1-5' })).status, 206);
    assert.equal((await download(site, {}, `${PATH}/since/x`)).status, 400);
    assert.equal((await download(site, {}, `${PATH}/since/1000`)).status, 404);
  }
  assert.equal((await download(site)).status, 200);
  const refused = await download(site);
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers['retry-after']) > 3_000);
  assert.match(String(refused.headers['ratelimit']), /^"snapshot-full";r=0;t=\d+$/);
  assert.equal((await download(site, { 'if-none-match': etag })).status, 304, 'still free of charge');
  const disguised = await download(site, { range: 'bytes=0-1,5-6', 'if-range': etag });
  assert.equal(disguised.status, 429, 'a range that means the whole body counts as one');
  assert.equal((await download(site, {}, `${PATH}/since/3`)).status, 200, 'a budget of its own');
  assert.equal((await download(site, {}, `${PATH}/since/3`)).status, 429);
});

test('queries: 400 for what is ill-formed, and the two exact 404 bodies', async () => {
  const site = await open(await database(1));
  for (const tail of [
    '/since/-1',
    '/since/1.5',
    '/since/99999999999999999',
    '/since/1?until=x',
    '/since/1?skip_lookups=yes',
    '/since/1?lookups=index_a:1:zz',
    `/since/1?lookups=a\`b:1:${'0'.repeat(64)}`,
    '?sync_mode=other'
  ])
    assert.equal((await download(site, {}, encodeURI(PATH + tail))).status, 400, tail);
  const caughtUp = await download(site, {}, `${PATH}/since/1000`);
  assert.equal(JSON.parse(caughtUp.bytes.toString()).error, 'No data available after block 1000');
  const empty = await download(site, {}, `${PATH}/since/2000`);
  assert.equal(JSON.parse(empty.bytes.toString()).error, 'No blocks in database');
  const since = await download(site, {}, `${PATH}/since/7?lookups=index_a:1:${'0'.repeat(64)}`);
  assert.deepEqual(
    JSON.parse(gunzipSync(since.bytes).toString()).tables.blocks.map((row: { block_index: number }) => row.block_index),
    [8, 9]
  );
  assert.equal(since.headers['x-since-block'], '7');
});

test('the store: private directory, stale files removed, idle artifacts evicted, DISK_FULL', async () => {
  const coordinates = await database(1);
  const site = await open(coordinates, { store: { maxBytes: 1 } });
  assert.equal(statSync(site.directory).mode & 0o777, 0o700);
  const reading = await get(site);
  for (let n = 0; n < 3; n++) {
    site.newBlock();
    await download(site);
  }
  assert.ok(readdirSync(site.directory).length >= 1);
  assert.equal(JSON.parse(gunzipSync(await reading.body()).toString()).tables.blocks.length, 9);
  for (let tries = 0; readdirSync(site.directory).length > 1; tries++) {
    assert.ok(tries < 200, 'what is read no more has gone, but for the newest');
    await sleep(10);
  }
  writeFileSync(join(site.directory, `${'a'.repeat(32)}.json.gz`), 'stale');
  writeFileSync(join(site.directory, 'not-ours.txt'), 'kept');
  const options = {
    directory: site.directory,
    maxBytes: 1,
    maxBuilds: 1,
    budgetMs: 60_000,
    tasks: pool,
    log: silentLogger
  };
  const store = await ArtifactStore.open({ ...options, minFreeBytes: 2 ** 60 });
  assert.deepEqual(readdirSync(site.directory), ['not-ours.txt']);
  const order = orderOf(coordinates);
  await assert.rejects(store.obtain(order, 'gzip'), { code: 'DISK_FULL' });
  assert.equal(store.find(order, 'gzip'), undefined);
  await store.close();
});
