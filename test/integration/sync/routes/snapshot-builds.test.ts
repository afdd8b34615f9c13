import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { PlatformError } from '../../../../src/errors.ts';
import { silentLogger } from '../../../../src/log.ts';
import {
  ArtifactStore,
  type RunBuild,
  resourceOf,
  type SnapshotSource
} from '../../../../src/replication/snapshot/artifact-store.ts';
import type { BuildProgress } from '../../../../src/replication/snapshot/build-messages.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { openFrontDoor } from '../../../support/sync/front-door.ts';
import {
  closeGate,
  countBuilds,
  database,
  download,
  get,
  open,
  PATH,
  pool,
  run,
  type Site,
  waitForBuild
} from '../../replication/snapshot/site.ts';
import { FULL, INDEXER, orderOf } from '../../replication/snapshot/support.ts';

test('a body ends when no group can begin before its source is told what the readers stand on', async () => {
  const lines: string[] = [];
  const [isHeld, isNoted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const source: SnapshotSource = {
    missed: async () => null,
    pauseGroups: async (_, __, height) => {
      lines.push(`pause ${height}`);
      await isHeld.promise;
    },
    reconcile: async (_, __, checksums) => {
      lines.push(`reconcile ${checksums?.height}, ${Object.keys(checksums?.tables ?? {}).length} tables`);
      isNoted.resolve();
    }
  };
  const site = await open(await database(1), { store: { source } });
  const growing = await get(site);
  const etag = String(growing.headers.etag);
  for (let tries = 0; lines.length === 0; tries++) {
    assert.ok(tries < 500, 'the body is written');
    await sleep(10);
  }
  assert.equal(site.artifacts.findTagged(resourceOf({ id: INDEXER, query: FULL }), etag)?.complete, false);
  isHeld.resolve();
  gunzipSync(await growing.body());
  await isNoted.promise;
  assert.deepEqual(lines, ['pause 9', 'reconcile 9, 3 tables']);
  assert.equal((await download(site)).headers.etag, etag);
});

test('a build that dies when its body is out lets groups go on, and its artifact is shared no more', async () => {
  const [isHeld, isNoted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const runBuild: RunBuild = async ({ path, progress }) => {
    writeFileSync(path, 'body');
    progress.postMessage({ type: 'opened', headers: {} } satisfies BuildProgress);
    progress.postMessage({ type: 'written', sizeBytes: 4, settledAt: 9 } satisfies BuildProgress);
    await isHeld.promise;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'gone' });
  };
  const noted: unknown[] = [];
  const source: SnapshotSource = {
    missed: async () => null,
    pauseGroups: async () => isHeld.resolve(),
    reconcile: async (_, __, checksums) => {
      noted.push(checksums);
      isNoted.resolve();
    }
  };
  const { artifacts, directory } = await openFrontDoor({ runBuild, store: { source } });
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
    runBuild: ((input, options) => pool.run('sync/build-snapshot', input, options)) satisfies RunBuild,
    log: silentLogger
  };
  const store = await ArtifactStore.open({ ...options, minFreeBytes: 2 ** 60 });
  assert.deepEqual(readdirSync(site.directory), ['not-ours.txt']);
  const order = orderOf(coordinates);
  await assert.rejects(store.obtain(order, 'gzip'), { code: 'DISK_FULL' });
  assert.equal(store.find(order, 'gzip'), undefined);
  await store.close();
});
