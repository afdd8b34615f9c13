import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import type { StoredSnapshot } from '../../../src/wire/data/stored-snapshot.ts';
import type { ServiceLook } from '../../../src/wire/state/service-look.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { appendBlocks, createDecoder, reorg } from '../../support/sync/generated-decoder.ts';
import { startGuardedNats } from '../../support/sync/guarded-nats.ts';
import { differences, PAIR_KEY, startPair } from '../../support/sync/sync-pair.ts';
import { eventually, temporaryDirectory } from '../../support/sync/sync-process.ts';

const HEADERS = { authorization: `Bearer ${PAIR_KEY}` };
const DATABASE = 'decoder/litecoin/regtest';

/** Everything that a subscriber hears but statuses, each once. */
async function listen(url: string, heard: string[]): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/subscribe/${DATABASE}?amendments=1`, { headers: HEADERS });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('error', reject);
  socket.on('message', (data) => {
    const text = String(data);
    if (text.startsWith('{"type":"status"')) resolve();
    else if (!heard.includes(text)) heard.push(text);
  });
  await promise;
  return socket;
}

/** Entity tag of an answer whose body is not read. */
async function tagOf(url: string): Promise<string | null> {
  const response = await fetch(url, { headers: { ...HEADERS, 'accept-encoding': 'gzip' } });
  await response.body?.cancel();
  return response.headers.get('etag');
}

test('a client behind an edge has the rows of the source, through a reorg and the absence of NATS', async () => {
  const { nats, publisher, reader } = await startGuardedNats();
  const source = await createDatabase('edge');
  await createDecoder(source, { seed: 'edge', blocks: 5, rows: 100 });
  const limits = { SYNC_RELAY_MAX_BYTES: 64 * 2 ** 20 };
  const pair = await startPair('decoder', source, { SYNC_NATS_URL: nats.url, SYNC_NATS_CREDS: publisher, ...limits });
  const port = await freePort();
  const edge = `http://127.0.0.1:${port}`;
  const started = startServiceProcess('edge', {
    EDGE_API_HOST: '127.0.0.1',
    EDGE_API_PORT: String(port),
    EDGE_API_KEY: PAIR_KEY,
    LOG_LEVEL: 'debug',
    SYNC_NATS_URL: nats.url,
    SYNC_NATS_CREDS: reader,
    SNAPSHOT_CACHE_DIR: temporaryDirectory('edge'),
    SNAPSHOT_RATE_FULL: '1000',
    SYNC_ORIGIN_URL: pair.server.url,
    SYNC_ORIGIN_KEY: PAIR_KEY
  });
  const ask = async (path: string) => {
    const response = await fetch(`${edge}${path}`, { headers: HEADERS });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const isReady = (status: number) =>
    eventually(`the edge answers ${status} to /readyz`, async () => {
      if (started.child.exitCode !== null) throw new Error(started.output());
      return (await ask('/readyz').catch(() => null))?.status === status;
    }).catch((fault: Error) => Promise.reject(new Error(`${fault.message}:\n${started.output().slice(-3_000)}`)));
  await isReady(200);

  await eventually('the snapshots are in NATS', async () => {
    const listed = await nats.value('decoder.litecoin.regtest.snapshots');
    return Array.isArray(listed) && listed.length === 2;
  });
  const path = `/snapshot/${DATABASE}`;
  const stored = () =>
    nats.value('decoder.litecoin.regtest.snapshots') as Promise<unknown> as Promise<StoredSnapshot[]>;
  const [gzip] = (await stored()).filter(({ coding }) => coding === 'gzip');
  await eventually('the edge has the list', async () => (await tagOf(`${edge}${path}`)) === gzip?.etag);
  const there = await fetch(`${pair.server.url}${path}`, { headers: { ...HEADERS, 'accept-encoding': 'gzip' } });
  const here = await ask(path);
  assert.deepEqual([here.status, here.headers.get('etag'), here.text], [200, gzip?.etag, await there.text()]);
  assert.equal(here.headers.get('x-block-height'), String(gzip?.height));
  const part = await fetch(`${edge}${path}`, {
    headers: { ...HEADERS, 'accept-encoding': 'gzip', range: 'bytes=0-9', 'if-range': gzip?.etag ?? '' }
  });
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 0-9/${gzip?.sizeBytes}`]);
  await part.body?.cancel();

  const heard: Record<'origin' | 'edge', string[]> = { origin: [], edge: [] };
  await listen(pair.server.url, heard.origin);
  const subscriber = await listen(edge, heard.edge);
  const client = await pair.startClient({ SYNC_SOURCES: edge });
  const isEqual = async (height: number) => {
    const verdict = await pair.settle(client, height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    await eventually('both have heard the same', async () => heard.origin.join() === heard.edge.join());
  };
  await isEqual(await appendBlocks(source, 3, 'first'));
  await isEqual(await reorg(source, 2, 4, 'branch'));

  for (const path of [`/schema/${DATABASE}`, `/snapshot/${DATABASE}/since/2`]) {
    const [here, there] = [await ask(path), await fetch(`${pair.server.url}${path}`, { headers: HEADERS })];
    assert.deepEqual([here.status, here.text], [200, await there.text()], path);
    assert.equal(here.headers.get('x-schema-fingerprint'), there.headers.get('x-schema-fingerprint'));
  }
  const challenge = 'ab'.repeat(32);
  const identityAt = async (url: string) => {
    const response = await fetch(`${url}/status/${DATABASE}?challenge=${challenge}`, { headers: HEADERS });
    return ((await response.json()) as { identity?: object }).identity;
  };
  const identity = await identityAt(edge);
  assert.ok(identity);
  assert.deepEqual(identity, await identityAt(pair.server.url), 'an edge counts as its origin');
  await eventually(
    'the catalog is passed on',
    async () => JSON.parse((await ask('/catalog')).text).databases.length === 1
  );
  assert.equal((await fetch(`${edge}/status/${DATABASE}`)).status, 401);

  const { nodes } = (JSON.parse((await ask('/debug/pipeline')).text) as ServiceLook).pipeline;
  const shown = nodes.map(({ role, state, height, count }) => [role, state, role === 'subscribers' ? count : height]);
  const tip = nodes[0]?.height;
  assert.deepEqual(shown, [
    ['stream', 'well', tip],
    ['edge', 'well', tip],
    ['subscribers', 'well', 2]
  ]);

  await nats.end();
  await isReady(503);
  assert.match(JSON.parse((await ask(`/status/${DATABASE}`)).text).waiting, /NATS/);
  const height = await appendBlocks(source, 2, 'away');
  await nats.start();
  await isReady(200);
  await isEqual(height);
  assert.equal(subscriber.readyState, subscriber.OPEN, 'sockets stay');
  const blocks = heard.edge.filter((text) => text.startsWith('{"type":"block"'));
  assert.equal(blocks.length, 3 + 4 + 2, 'no gap');
});
