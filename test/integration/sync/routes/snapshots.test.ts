import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { resourceOf } from '../../../../src/replication/snapshot/artifact-store.ts';
import { closeGate, database, download, get, open, PATH, waitForBuild } from '../../replication/snapshot/site.ts';
import { FULL, INDEXER } from '../../replication/snapshot/support.ts';

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
