import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { readSubscriptions } from '../../../src/explorer/live/channels.ts';
import { readRequired } from '../../../src/explorer/live/outcomes.ts';
import type { Question, Reply } from '../../../src/explorer/question.ts';
import { MemoryChain, serveChannels } from '../../support/channels.ts';

const pairs = (count: number) => ({
  channels: ['market'],
  params: { pairs: Array.from({ length: count }, (_, n) => [`T${n}`, 'TOKA']) }
});

test('a client that owes for its reads keeps no block from others, and gets what it follows as it stands then', async (t) => {
  const chain = new MemoryChain(9);
  const { budget, follow } = await serveChannels(t, chain);
  const honest = await follow('honest', { channels: ['blocks', 'network'] });
  const stranger = await follow('stranger', { channels: ['network', 'blocks'] });
  const crowd = await follow('stranger', pairs(24));
  budget.charge('stranger', { bytes: 104_000_000 });
  for (let height = 10; height <= 12; height++) {
    chain.add(`h${height}`);
    for (const { until } of [honest, stranger])
      await until('NEW_BLOCK', ({ data }) => data['block_index'] === String(height), 1_500);
    await honest.until('NETWORK_STATS', ({ data }) => data['block_height'] === String(height), 1_500);
  }
  assert.ok(!crowd.frames.some(({ type }) => type === 'MARKET_UPDATE'), 'it owes still');
  await stranger.until('NETWORK_STATS', ({ data }) => data['block_height'] === '12', 20_000);
  await sleep(200);
  const statistics = stranger.frames.filter(({ type }) => type === 'NETWORK_STATS');
  assert.ok(statistics.length <= 2, `${statistics.length} for three blocks: a state is told as it stands`);
});

test('a reorg is told: states anew, and REORG to followers of blocks and actions', async (t) => {
  const chain = new MemoryChain(9);
  const { follow } = await serveChannels(t, chain);
  const payee = await follow('payee', { channels: ['address', 'token'], params: { address: 'A', tick: 'TOKA' } });
  const quiet = await follow('quiet', {
    channels: ['actions'],
    params: { types: ['ORDER_EXPIRED'], fields: ['status'] }
  });
  const watcher = await follow('watcher', { channels: ['blocks', 'actions'] });
  const balancesAre = (wanted: readonly object[]) =>
    payee.until('ADDRESS_UPDATE', ({ data }) => JSON.stringify(data['balances']) === JSON.stringify(wanted));
  chain.balances = [{ tick: 'TOKA', amount: '100' }];
  chain.add('paid', 1);
  await balancesAre(chain.balances);
  payee.frames.length = 0;
  chain.balances = [];
  chain.rollBack(9);
  await balancesAre([]);
  assert.equal((await payee.until('TOKEN_UPDATE')).data['last_action_index'], '0');
  for (const { until, frames } of [watcher, quiet]) {
    assert.deepEqual((await until('REORG')).data, { block_index: '9' });
    assert.equal(frames.filter(({ type }) => type === 'REORG').length, 1);
  }
  chain.add('rival', 1);
  await watcher.until('NEW_ACTION', ({ data }) => data['source'] === 'rival');
});

test('a client that knows an action of a block that is gone is sent the actions of the blocks in its place', async (t) => {
  const chain = new MemoryChain(9);
  const { follow } = await serveChannels(t, chain);
  chain.add('paid', 5, 6);
  const first = await follow('client', { channels: ['actions'] });
  first.socket.terminate();
  await sleep(100);
  chain.rollBack(9);
  chain.add('rival', 5, 6, 7);
  const catchUp = async (since: number) => {
    const again = await follow('client', { channels: ['actions'], params: { since_action_index: since } });
    await again.until('CATCH_UP_COMPLETE');
    again.socket.terminate();
    return again.frames
      .filter(({ catch_up }) => catch_up)
      .map(({ type, data }) => `${type} ${data['action_index'] ?? data['block_index']}`);
  };
  assert.deepEqual(await catchUp(6), ['REORG 9', 'NEW_ACTION 5', 'NEW_ACTION 6', 'NEW_ACTION 7']);
  assert.deepEqual(await catchUp(7), [], 'nobody knew action 7 of the block that is gone');
});

test('empty lists of types and fields leave out nothing, and the frame of an address has as many tokens as its list', async (t) => {
  const chain = new MemoryChain(3);
  chain.balances = Array.from({ length: 600 }, (_, n) => ({ tick: `T${n}`, amount: '1' }));
  const { follow } = await serveChannels(t, chain);
  const nothing = { types: [], fields: [] };
  const client = await follow('client', { channels: ['actions'], params: nothing });
  const { data } = await client.until('SUBSCRIBED');
  assert.deepEqual(data['filters'], { types: null, fields: null, once: false });
  client.send({ action: 'subscribe', channels: ['address'], params: { ...nothing, address: 'A', snapshot: true } });
  const { balances } = (await client.until('SNAPSHOT')).data as { balances: unknown[] };
  assert.equal(balances.length, 500);
  chain.add('paid', 1);
  assert.equal((await client.until('NEW_ACTION')).data['source'], 'paid');
});

test('unsubscribe from a channel without a subject ends all that it follows there, and nothing else', async (t) => {
  const { follow } = await serveChannels(t, new MemoryChain(3));
  const client = await follow('client', {
    channels: ['address', 'token'],
    params: { addresses: ['A', 'B'], tick: 'T' }
  });
  await client.until('SUBSCRIBED', ({ data }) => data['tick'] === 'T');
  client.send({ action: 'unsubscribe', channels: ['address'], params: { address: 'A' } });
  await client.until('UNSUBSCRIBED', ({ data }) => data['address'] === 'A');
  client.send({ action: 'unsubscribe', id: 2, channels: ['address'] });
  assert.deepEqual((await client.until('UNSUBSCRIBED', ({ id }) => id === 2)).data, {
    channel: 'address',
    address: 'B'
  });
  client.send({ action: 'list_subscriptions' });
  const { subscriptions } = (await client.until('SUBSCRIPTION_LIST')).data as { subscriptions: { channel: string }[] };
  assert.deepEqual(
    subscriptions.map(({ channel }) => channel),
    ['token']
  );
  client.send({ action: 'unsubscribe', id: 3, channels: ['market'] });
  assert.equal((await client.until('error', ({ id }) => id === 3)).data['code'], 'INVALID_PARAMS');
});

test('messages and frames are paid for; a flood is told once a second, and cut', async (t) => {
  const { budget, follow } = await serveChannels(t, new MemoryChain(3));
  const charge = t.mock.method(budget, 'charge');
  const talker = await follow('talker');
  const ticks = Array.from({ length: 25 }, (_, n) => `T${n}`);
  const ask = { action: 'subscribe', channels: ['token'], params: { ticks } };
  const paid = () =>
    charge.mock.calls
      .filter(({ arguments: [address] }) => address === 'talker')
      .reduce((sum, { arguments: [, { calls = 0, bytes = 0 }] }) => sum + calls + bytes / 8_000, 0);
  const before = paid();
  for (let n = 0; n < 5; n++) talker.send({ ...ask, id: n });
  await talker.until('SUBSCRIBED', ({ id, data }) => id === 4 && data['tick'] === 'T24');
  assert.ok(paid() - before >= 5 + 5 * 25 * 0.2, `${paid() - before} tokens for 5 messages and 125 frames`);
  const began = Date.now();
  for (let n = 0; n < 90; n++) talker.send({ action: 'ping' });
  await sleep(300);
  assert.equal(talker.socket.readyState, WebSocket.OPEN);
  const refusals = talker.frames.filter(({ data }) => data['code'] === 'RATE_LIMITED');
  assert.ok(refusals.length >= 1 && refusals.length <= 2 + (Date.now() - began) / 1_000, `${refusals.length}`);
  const closed = once(talker.socket, 'close') as Promise<[number, Buffer]>;
  for (let n = 0; n < 20; n++) talker.socket.ping();
  const [code, reason] = await closed;
  assert.deepEqual([code, String(reason)], [1008, 'more than 100 messages in 10 s']);
});

test('a client that has gone follows nothing: its subjects make room for others', async (t) => {
  const { follow } = await serveChannels(t, new MemoryChain(3));
  const ticks = (name: string) => ({
    channels: ['token'],
    params: { ticks: Array.from({ length: 25 }, (_, n) => name + n) }
  });
  const crowd = await Promise.all(Array.from({ length: 20 }, (_, n) => follow(`a${n}`, ticks(`T${n}X`))));
  const late = await follow('late');
  late.send({ action: 'subscribe', ...ticks('T0X') });
  await late.until('SUBSCRIBED', ({ data }) => data['tick'] === 'T0X24');
  late.send({ action: 'unsubscribe', ...ticks('T0X') });
  await late.until('UNSUBSCRIBED', ({ data }) => data['tick'] === 'T0X24');
  late.send({ action: 'subscribe', ...ticks('NEW') });
  assert.equal((await late.until('error')).data['code'], 'SUBSCRIPTION_LIMIT');
  crowd[0]!.socket.terminate();
  await sleep(200);
  late.send({ action: 'subscribe', ...ticks('NEW') });
  await late.until('SUBSCRIBED', ({ data }) => data['tick'] === 'NEW24');
});

test('CATCH_UP_TOO_OLD, CATCH_UP_IN_PROGRESS: what is sent again is bounded, and sent once at a time', async (t) => {
  const chain = new MemoryChain(9);
  const { follow } = await serveChannels(t, chain);
  chain.add('busy', 1_500);
  const client = await follow('client');
  const since = (id: number, since_action_index: number) =>
    client.send({ action: 'subscribe', id, channels: ['actions'], params: { since_action_index } });
  since(1, 499);
  assert.equal((await client.until('error', ({ id }) => id === 1)).data['code'], 'CATCH_UP_TOO_OLD');
  since(2, 500);
  since(3, 500);
  assert.equal((await client.until('error', ({ id }) => id === 3)).data['code'], 'CATCH_UP_IN_PROGRESS');
  await client.until('CATCH_UP_COMPLETE', ({ id }) => id === 2);
  since(4, 1_500);
  assert.equal((await client.until('CATCH_UP_COMPLETE', ({ id }) => id === 4)).data['events_replayed'], 0);
});

test('a client that missed more than a page gets the oldest of it, whatever the filters leave, and is told that there is more', async (t) => {
  const chain = new MemoryChain(9);
  const { follow } = await serveChannels(t, chain);
  const indexes = Array.from({ length: 150 }, (_, n) => n + 1);
  chain.add('busy', ...indexes);
  chain.actions = chain.actions.map((row) => ({
    ...row,
    action: Number(row['action_index']) % 5 === 0 ? 'MINT' : 'SEND'
  }));
  const client = await follow('client');
  const catchUp = async (id: number, since_action_index: number, types: readonly string[] | null) => {
    client.send({ action: 'subscribe', id, channels: ['actions'], params: { since_action_index, types } });
    const { data } = await client.until('CATCH_UP_COMPLETE', (frame) => frame.id === id);
    const sent = client.frames.splice(0).filter(({ type, catch_up }) => type === 'NEW_ACTION' && catch_up === true);
    return [sent[0]?.data['action_index'], data['events_replayed'], data['truncated']];
  };
  assert.deepEqual(await catchUp(1, 10, ['MINT']), ['15', 28, false], 'eight of them are behind the newest 100');
  assert.deepEqual(await catchUp(2, 49, null), ['50', 100, true]);
  assert.deepEqual(await catchUp(3, 50, null), ['51', 100, false]);
});

test('COINPAY_REQUIRED of a block comes however many other actions and matches somebody has put into it', async () => {
  const owed = new Map([
    [7, 250],
    [8, 1]
  ]);
  const read = async ({ query, page, limit }: Question) => {
    const height = Number(query);
    const all = Array.from({ length: owed.get(height) ?? 0 }, (_, n) => ({ action_index: `${height}${n}` }));
    return { body: JSON.stringify({ data: all.slice((page - 1) * limit, page * limit) }) } as Reply;
  };
  const block = (block_index: number) => ({ block_index });
  const sends = Array.from({ length: 100 }, () => ({ ...block(8), action: 'SEND' }));
  const news = [block(7), block(8), block(9)];
  const count = async (actions: Parameters<typeof readRequired>[1]) =>
    (await readRequired({ read }, actions, news)).length;
  assert.equal(await count({ rows: sends, isCut: true }), 251);
  assert.equal(await count({ rows: sends, isCut: false }), 0, 'none of them is a match');
  assert.equal(await count({ rows: [{ ...block(8), action: 'ORDER_MATCH' }], isCut: false }), 1);
});

test('a client that follows nothing for five minutes is closed with 4000, all others with 1001 when the service stops', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { follow, stop } = await serveChannels(t, new MemoryChain(3));
  const idle = await follow('idle');
  const follower = await follow('follower', { channels: ['blocks'] });
  const now = performance.now();
  t.mock.method(performance, 'now', () => now + 299_000);
  const late = await follow('late', { channels: ['blocks'] });
  late.send({ action: 'unsubscribe', channels: ['blocks'] });
  await late.until('UNSUBSCRIBED');
  t.mock.method(performance, 'now', () => now + 301_000);
  const closed = once(idle.socket, 'close');
  t.mock.timers.tick(30_000);
  assert.deepEqual(await closed.then(([code, reason]) => [code, String(reason)]), [4000, 'no subscriptions']);
  const ends = [follower, late].map(async ({ socket }) => ((await once(socket, 'close')) as [number])[0]);
  stop();
  assert.deepEqual(await Promise.all(ends), [1001, 1001]);
});

test('a subscription that a message names many times is one', () => {
  const channels = Array(60).fill('address');
  const found = readSubscriptions({ channels, params: { address: 'A', addresses: ['B', 'A'] } });
  assert.deepEqual(
    found.map(({ about }) => about),
    [{ address: 'A' }, { address: 'B' }]
  );
});
