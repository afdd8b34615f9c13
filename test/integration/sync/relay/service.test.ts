import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { createDatabase } from '../../../support/mariadb.ts';
import { appendBlocks, createDecoder, reorg } from '../../../support/sync/generated-decoder.ts';
import { TestNats } from '../../../support/sync/nats.ts';
import { PAIR_KEY, startPair } from '../../../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../../../support/sync/sync-process.ts';

const STREAM = 'PLATFORM_DECODER_LITECOIN_REGTEST';
const OF_SUBSCRIBERS = ['block', 'reorg', 'amendment', 'settled'];

/** Listens to everything that subscribers get, but the status. */
async function listen(server: SyncProcess, heard: string[]): Promise<void> {
  const url = `${server.url.replace('http', 'ws')}/subscribe/decoder/litecoin/regtest?amendments=1`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${PAIR_KEY}` } });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('error', reject);
  socket.on('message', (data) => {
    const text = String(data);
    if (text.startsWith('{"type":"status"')) resolve();
    else if (!heard.includes(text)) heard.push(text);
  });
  await promise;
}

test('a server publishes what its subscribers get, also after NATS and the server itself were killed', async () => {
  const nats = await TestNats.start();
  const source = await createDatabase('relay');
  await createDecoder(source, { seed: 'relay', blocks: 5, rows: 100 });
  const pair = await startPair('decoder', source, { SYNC_NATS_URL: nats.url, SYNC_RELAY_MAX_BYTES: 64 * 2 ** 20 });
  const relay = async () => {
    const { status, body } = await pair.server.get('/health');
    const [stream] = body['relay'] as { state: string; reason: string | null; waiting: number }[];
    return { status, health: body['status'], ...stream };
  };
  const isPublished = () =>
    eventually('everything is published', async () => {
      const { state, waiting } = await relay();
      return state === 'publishing' && waiting === 0;
    });
  const published = async () =>
    (await nats.read(STREAM)).filter(({ head }) => OF_SUBSCRIBERS.includes(head['Type']!)).map(({ text }) => text);
  const isHeard = (height: number) =>
    eventually(`block ${height} is heard`, async () => heard.some((text) => text.includes(`"block_index":${height},`)));

  const heard: string[] = [];
  await isPublished();
  await listen(pair.server, heard);
  await isHeard(await appendBlocks(source, 3, 'first'));
  await isPublished();
  assert.equal((await relay()).health, 'healthy');
  const names = ['catalog', 'schema', 'status', 'validators'].map((name) => `decoder.litecoin.regtest.${name}`);
  await eventually('the values are there', async () =>
    (await Promise.all(names.map((name) => nats.value(name)))).every((value) => value !== null)
  );
  const status = await nats.value('decoder.litecoin.regtest.status');
  assert.deepEqual(
    Object.keys(status ?? {}).sort(),
    Object.keys((await pair.server.get('/status/decoder/litecoin/regtest')).body)
      .filter((name) => name !== 'subscribers')
      .sort()
  );
  assert.equal((await nats.value('decoder.litecoin.regtest.catalog'))?.['coin'], 'litecoin');

  const before = heard.length;
  await nats.end();
  const height = await appendBlocks(source, 2, 'away');
  await isHeard(height);
  await reorg(source, 2, 4, 'branch');
  await eventually('the reorg is heard', async () => heard.some((text) => text.startsWith('{"type":"reorg"')));
  await isHeard(height + 2);
  await eventually('the reason is told', async () => {
    const { status, health, state, reason } = await relay();
    return status === 200 && health === 'degraded' && state === 'away' && /NATS/.test(reason ?? '');
  });
  // Subscribers may hear a message before it is in the spool; what is killed between is a break.
  await eventually('the spool has what was heard', async () => (await relay()).waiting! >= heard.length - before);
  await pair.server.end('SIGKILL');
  await nats.start();
  await pair.restartServer();
  await listen(pair.server, heard);
  await isHeard(await appendBlocks(source, 2, 'after'));
  await eventually('the stream has what subscribers got', async () => {
    const texts = await published();
    return heard.every((text) => texts.includes(text));
  });
  const types = (await nats.read(STREAM)).map(({ head: { Type } }) => Type);
  assert.equal(types.filter((type) => type === 'break').length, 1, types.join());
  const texts = await published();
  assert.deepEqual(
    texts.filter((text) => heard.includes(text)),
    heard,
    'in the same order'
  );
  const blocks = texts.filter((text) => text.startsWith('{"type":"block"'));
  assert.equal(new Set(blocks).size, blocks.length, 'no block came twice');
  await pair.server.end();
});
