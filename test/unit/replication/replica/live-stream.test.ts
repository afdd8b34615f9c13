import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { silentLogger } from '../../../../src/log.ts';
import { SourceClient } from '../../../../src/replication/client/source-client.ts';
import type { ReplicaState } from '../../../../src/replication/replica/database/state.ts';
import { LiveStream } from '../../../../src/replication/replica/parts/live-stream.ts';

const ID = { dbType: 'indexer', chain: 'litecoin', network: 'regtest' } as const;
const STATE = {
  height: 7,
  hashes: { ledger_hash: 'L7', actions_hash: 'a7', contract_hash: null },
  phase: 'following',
  complete: true,
  misses: false,
  amendments: null
};

/** A live stream of a source that notes what it is asked for, and answers so. */
async function open(answer: (path: string) => 'resumed' | 'plain' | 'refused', state: object = STATE) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const asked: string[] = [];
  server.on('connection', (socket, { url = '' }) => {
    asked.push(url.split('amendments=1')[1]!);
    const how = answer(url);
    if (how === 'refused') socket.close(4409, 'take a snapshot');
    const status = { type: 'status', ...ID, block_height: 7, block_time: 1, ...STATE.hashes };
    if (how !== 'refused') socket.send(JSON.stringify({ ...status, ...(how === 'resumed' && { resumed: true }) }));
  });
  const client = new SourceClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined, ID);
  const store = { knownState: state as unknown as ReplicaState, toldFork: null, isTorn: false, contradicted: false };
  const sources = { client };
  const options = {
    data: { validator: null },
    log: silentLogger,
    sources,
    store,
    changed: () => undefined
  };
  const stream = new LiveStream(options as unknown as ConstructorParameters<typeof LiveStream>[0]);
  const end = async () => {
    stream.close();
    server.close();
    await client.close();
  };
  return { stream, sources, server, asked, end };
}

const AFTER = '&after=7:a7::l7';

test('behind the block of a replica that was live with this source: once, and whether it is so is asked once', async () => {
  const { stream, asked, end } = await open((path) => (path.includes('after=') ? 'resumed' : 'plain'));
  await stream.subscription();
  assert.deepEqual([stream.mayResume, stream.takeResumed()], [false, false]);
  stream.noteLive();
  stream.drop();
  assert.equal(stream.mayResume, true);
  await stream.subscription();
  assert.deepEqual([stream.takeResumed(), stream.takeResumed(), stream.mayResume], [true, false, false]);
  assert.deepEqual(asked, ['', AFTER]);
  await end();
});

test('a source that is away, or not ready, is asked for the place again; one that refuses the request is not', async () => {
  for (const [status, mayResume] of [
    [0, true],
    [503, true],
    [429, true],
    [400, false]
  ] as const) {
    const { stream, server, end } = await open(() => 'resumed');
    stream.noteLive();
    server.options.verifyClient = (_, answer) => answer(false, status);
    if (status === 0) server.close();
    await assert.rejects(stream.subscription());
    assert.equal(stream.mayResume, mayResume, String(status));
    await end();
  }
});

test('not behind a block that may have come from another source since', async () => {
  const [one, other] = [await open(() => 'plain'), await open(() => 'plain')];
  const { stream, sources, asked, end } = one;
  const { client } = sources;
  stream.noteLive();
  sources.client = other.sources.client;
  await stream.subscription();
  stream.drop();
  sources.client = client;
  await stream.subscription();
  assert.deepEqual([asked, other.asked], [[''], ['']]);
  await Promise.all([end(), other.end()]);
});

for (const how of ['refused', 'plain'] as const) {
  test(`a source that answers ${how}: the stream begins with what comes`, async () => {
    const { stream, asked, end } = await open((path) => (path.includes('after=') ? how : 'plain'));
    stream.noteLive();
    const subscription = await stream.subscription();
    assert.equal(stream.takeResumed(), false);
    assert.equal((await subscription.next(5_000, new AbortController().signal))?.type, 'status');
    assert.deepEqual(asked, how === 'refused' ? [AFTER, ''] : [AFTER]);
    await end();
  });
}

test('not behind the block of a replica that lacks more than what followed it', async () => {
  for (const lack of [{ misses: true }, { complete: false }, { phase: 'reconciling' }, { hashes: null }]) {
    const { stream, asked, end } = await open(() => 'plain', { ...STATE, ...lack });
    stream.noteLive();
    await stream.subscription();
    assert.deepEqual(asked, [''], JSON.stringify(lack));
    await end();
  }
});
