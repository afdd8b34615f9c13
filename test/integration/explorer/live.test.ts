import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import { addAllBlocks } from '../../support/indexer-database.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { RawClient } from '../../support/raw-client.ts';

interface Message {
  readonly type: string;
  readonly block_index?: number;
  readonly data?: { readonly block_index: number; readonly action_index?: string };
}

let explored: Awaited<ReturnType<typeof createExplored>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
before(async () => {
  explored = await createExplored();
  explorer = await startExplorer(explored, { EXPLORER_RATE_LIMIT_RPM: '100000' });
});
after(() => explored.store.close());

const urlOf = (query: string) => `ws://127.0.0.1:${explorer.port}/RBTC/api/stream${query}`;

async function subscribe(t: TestContext, query = '') {
  const socket = new WebSocket(urlOf(query));
  const messages: Message[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data)) as Message));
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const until = async (what: string, isTrue: () => boolean) => {
    for (const end = Date.now() + PATIENCE_MS; !isTrue(); await sleep(20))
      assert.ok(Date.now() < end, `${what}: ${JSON.stringify(messages)}`);
  };
  await until('ready', () => messages.length > 0);
  return { socket, messages, until };
}

const actionsOf = (messages: readonly Message[]) =>
  messages.flatMap(({ type, data }) => (type === 'action' ? [data!.action_index] : []));

test('a subscriber gets each block, the actions of its subject, and a reorg', async (t) => {
  const tip = explored.blocks.length;
  const blocks = await subscribe(t);
  const ofAddress = await subscribe(t, '?address=A');
  const ofToken = await subscribe(t, '?token=TOKA');
  assert.deepEqual(blocks.messages[0], { type: 'ready', block_index: tip });
  await explored.store.rollBack(tip - 1);
  const all = [blocks, ofAddress, ofToken];
  for (const each of all) await each.until('reorg', () => each.messages.some(({ type }) => type === 'reorg'));
  assert.deepEqual(blocks.messages[1], { type: 'reorg', block_index: tip - 2 });
  await addAllBlocks(explored.store, explored.blocks.slice(-2));
  for (const each of all)
    await each.until('blocks', () =>
      each.messages.some(({ type, data }) => type === 'block' && data?.block_index === tip)
    );
  for (const [{ messages, until }, path] of [
    [ofAddress, 'history/A/address'],
    [ofToken, 'history/TOKA/token']
  ] as const) {
    const answer = await fetch(`${explorer.url}/api/${path}?limit=100`);
    const { data } = (await answer.json()) as { data: { action_index: string; block_index: number }[] };
    const expected = data.filter(({ block_index }) => block_index >= tip - 1).reverse();
    await until('actions', () => actionsOf(messages).length >= expected.length);
    assert.deepEqual(
      actionsOf(messages),
      expected.map(({ action_index }) => action_index)
    );
  }
  await sleep(100);
  assert.deepEqual(actionsOf(blocks.messages), []);
});

test('a request without a subscription is refused before the upgrade; a client that talks or comes too often is cut', async (t) => {
  const refused = async (query: string) => {
    const socket = new WebSocket(query.startsWith('ws') ? query : urlOf(query));
    const [, { statusCode }] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
    socket.on('error', () => undefined);
    socket.terminate();
    return statusCode;
  };
  assert.equal(await refused('?address=A&token=TOKA'), 400);
  assert.equal(await refused(`?address=${'x'.repeat(251)}`), 400);
  assert.equal(await refused(urlOf('').replace('RBTC', 'XYZ')), 404);
  assert.equal((await fetch(`${explorer.url}/api/stream`)).status, 400);
  const talker = await subscribe(t);
  talker.socket.send('hello');
  const [code] = (await once(talker.socket, 'close')) as [number];
  assert.equal(code, 1008);
  const crowd = Array.from({ length: 21 }, () => new WebSocket(urlOf('')));
  t.after(() => {
    for (const each of crowd) each.terminate();
  });
  const codes = await Promise.race(crowd.map(async (each) => ((await once(each, 'close')) as [number])[0]));
  assert.equal(codes, 1008);
});

test('a subscriber that sends junk in place of frames harms nobody', async (t) => {
  const other = await subscribe(t);
  const junk = await RawClient.open(`127.0.0.1:${explorer.port}`);
  await junk.upgrade('/api/stream');
  await junk.say(Buffer.alloc(64 * 1024, 0xff)).ended;
  assert.equal(other.socket.readyState, WebSocket.OPEN);
  assert.equal((await fetch(`${explorer.url}/api/ping`)).status, 200);
});

test('a few addresses cannot take all that the channels of a network follow: who follows the most gives way', async (t) => {
  const follow = async (localAddress: string, ticks: readonly string[]) => {
    const socket = new WebSocket(`ws://127.0.0.1:${explorer.port}/RBTC/api/websocket`, { localAddress });
    const frames: { readonly type: string; readonly data: { readonly reason?: string } }[] = [];
    socket.on('message', (data) => frames.push(JSON.parse(String(data))));
    t.after(() => socket.terminate());
    await once(socket, 'open');
    socket.send(JSON.stringify({ action: 'subscribe', channels: ['token'], params: { ticks } }));
    const isAnswered = () => frames.filter(({ type }) => type !== 'WELCOME').length >= ticks.length;
    for (const end = Date.now() + PATIENCE_MS; !isAnswered(); await sleep(20))
      assert.ok(Date.now() < end, JSON.stringify(frames));
    return frames;
  };
  const crowd = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      follow(
        `127.0.0.${2 + (n % 4)}`,
        Array.from({ length: 25 }, (_, place) => `T${n}X${place}`)
      )
    )
  );
  const honest = await follow('127.0.0.6', ['TOKA']);
  assert.equal(honest.at(-1)?.type, 'SUBSCRIBED', JSON.stringify(honest));
  await sleep(100);
  const received = crowd.flatMap((frames) => frames.filter(({ type }) => type !== 'WELCOME' && type !== 'SUBSCRIBED'));
  assert.deepEqual(
    received.map(({ type, data }) => [type, data.reason]),
    [['UNSUBSCRIBED', 'crowded']]
  );
});
