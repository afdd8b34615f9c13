import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import nacl from 'tweetnacl';
import { WebSocket } from 'ws';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { sql } from '../../support/sql.ts';

interface Message {
  readonly type: string;
  readonly table?: string;
  readonly row?: { readonly id: number; readonly value?: string };
  readonly max_ids?: Readonly<Record<string, number>>;
  readonly from_action_index?: number;
}

const PRICE = {
  ...{ source_chain: 'LTC', source_address: 'ltc1qaddress', coin: 'LTC', tick: 'TOK', fiat: 'USD', value: '1.25' },
  ...{ block_time: 1_700_000_000, push_generation: 0 }
};
const push = async (hub: RunningHub, action_index: number, more: object = {}) =>
  assert.deepEqual((await hub.call('pushoracleprice', { ...PRICE, action_index, ...more })).json.result, {
    accepted: true
  });

/** A subscriber that keeps what it is sent. */
async function subscribe(t: TestContext, hub: RunningHub, query = '', headers: Record<string, string> = {}) {
  const socket = new WebSocket(`ws://127.0.0.1:${hub.port}/hub-db/subscribe${query}`, { headers });
  const messages: Message[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const until = async (what: string, isTrue: () => boolean) => {
    for (const end = Date.now() + 20_000; !isTrue(); await sleep(5)) assert.ok(Date.now() < end, what);
  };
  await until('ready', () => messages.length > 0);
  const ids = () => messages.flatMap(({ type, row }) => (type === 'row:inserted' && row ? [row.id] : []));
  return { socket, messages, ids, until };
}

async function start(t: TestContext, env: Record<string, string> = {}) {
  const hub = await runHub(env);
  t.after(hub.stop);
  return hub;
}

test('EHD-03: a subscriber is told where it begins, gets each row once and in order, and what a later generation replaced', async (t) => {
  const hub = await start(t);
  await push(hub, 1);
  const { messages, ids, until } = await subscribe(t, hub);
  assert.deepEqual(messages[0]?.max_ids, { price_snapshots: 0, oracle_prices: 1 });
  await Promise.all(Array.from({ length: 20 }, (_, at) => push(hub, at + 2)));
  await until('all rows', () => ids().length >= 20);
  assert.deepEqual(
    ids(),
    Array.from({ length: 20 }, (_, at) => at + 2)
  );
  await push(hub, 5, { value: '9', push_generation: 1 });
  await until('the replacement', () => ids().length > 20);
  const [deleted, inserted] = messages.slice(-2);
  assert.deepEqual([deleted?.type, deleted?.table, deleted?.from_action_index], ['row:deleted', 'oracle_prices', 5]);
  assert.equal(inserted?.row?.value, '9');
});

test('EV-12: a round of prices that validators signed reaches every subscriber', async (t) => {
  const hub = await start(t);
  const { publicKey, secretKey } = nacl.sign.keyPair();
  const pubkey = Buffer.from(publicKey).toString('hex');
  await hub.call('registervalidator', { signing_pubkey: pubkey, addr: 'validator.example:1' });
  const body = {
    ...{ round: 7, timestamp: 1_700_000_000, btc_block_height: 800_000 },
    pairs: [{ pair: 'BTC/USD', price: '65000.5' }]
  };
  const sig = Buffer.from(nacl.sign.detached(Buffer.from(JSON.stringify(body)), secretKey)).toString('hex');
  const readers = [await subscribe(t, hub), await subscribe(t, hub)];
  const place = { source_chain: 'DOGE', action_index: 3, block_index: 9, push_generation: 0 };
  const pushed = await hub.call('pushpriceround', { ...body, ...place, sigs: [{ pubkey, sig }] });
  assert.deepEqual(pushed.json.result, { accepted: true });
  for (const { messages, ids, until } of readers) {
    await until('the round', () => ids().length === 1);
    const { table, row } = messages.at(-1)!;
    const { coin_pair, price, status } = row as unknown as Record<string, unknown>;
    assert.deepEqual([table, coin_pair, price, status], ['price_snapshots', 'BTC/USD', '65000.50000000', 'finalized']);
  }
});

test('a gap is closed by since_id, without a snapshot', async (t) => {
  const hub = await start(t);
  const first = await subscribe(t, hub);
  await push(hub, 1);
  await first.until('a row', () => first.ids().length === 1);
  first.socket.close();
  await once(first.socket, 'close');
  for (const index of [2, 3]) await push(hub, index);
  const plain = await subscribe(t, hub);
  const resumed = await subscribe(t, hub, '?since_id=oracle_prices:1,price_snapshots:0');
  await push(hub, 4);
  await resumed.until('the rest', () => resumed.ids().length === 3);
  await plain.until('the new row', () => plain.ids().length === 1);
  assert.deepEqual([resumed.ids(), plain.ids()], [[2, 3, 4], [4]]);
});

test('EHD-04: a reader that stops is closed with 1008, by the count of sends and by the bytes that wait, and others go on', async (t) => {
  const limits = [{}, { WS_BACKPRESSURE_LIMIT: '1000000', WS_BACKPRESSURE_MAX_BYTES: '65536' }];
  for (const limit of limits) {
    const hub = await start(t, limit);
    const [stopped, other] = [await subscribe(t, hub), await subscribe(t, hub)];
    stopped.socket.pause();
    await sql(
      hub.database,
      `INSERT INTO oracle_prices (source_address, source_chain, coin, tick, fiat, value, memo, block_time, effective_at, action_index)
       SELECT 'a', 'LTC', 'LTC', REPEAT('€', 250), 'USD', '1', REPEAT('€', 512), 1, 1, seq FROM seq_1_to_9000`
    );
    await push(hub, 10_001);
    await other.until('every row', () => other.ids().length === 9_001);
    stopped.socket.resume();
    const [code, reason] = await once(stopped.socket, 'close');
    assert.deepEqual([code, String(reason)], [1008, 'Backpressure'], JSON.stringify(limit));
  }
});

test('EHD-01, EHD-02: snapshots page by id; latest=1 is of each feed the row that holds', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k' });
  for (const [index, value] of ['1', '2', '3'].entries()) await push(hub, index + 1, { value });
  await push(hub, 9, { tick: 'OTHER', block_time: 4_000_000_000 });
  const get = async (path: string, headers: Record<string, string> = { 'x-api-key': 'k' }) => {
    const response = await fetch(`${hub.url}/hub-db/snapshot/${path}`, { headers });
    // biome-ignore lint/suspicious/noExplicitAny: each check says what it expects
    return { status: response.status, json: (await response.json()) as any };
  };
  const idsOf = (json: { rows: { id: number }[] }) => json.rows.map(({ id }) => id);
  const page = (await get('oracle_prices?since_id=1&limit=2')).json;
  assert.deepEqual(
    [page.table, page.count, page.mode, page.schema_version, idsOf(page)],
    ['oracle_prices', 2, 'page', 1, [2, 3]]
  );
  assert.equal(page.rows[0].value, '2');
  assert.deepEqual(idsOf((await get('oracle_prices?latest=1')).json), [3]);
  assert.deepEqual((await get('price_snapshots')).json.rows, []);
  for (const query of ['limit=10001', 'limit=0', 'limit=x', 'since_id=-1', 'latest=2'])
    assert.equal((await get(`oracle_prices?${query}`)).status, 400, query);
  assert.equal((await get('oracle_prices', {})).status, 401);
});

test('the stream needs the key where there is one, and an upgrade', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k' });
  const refused = new WebSocket(`ws://127.0.0.1:${hub.port}/hub-db/subscribe`);
  const [{ message }] = (await once(refused, 'error')) as [Error];
  assert.match(message, /401/);
  const { messages } = await subscribe(t, hub, '', { authorization: 'Bearer k' });
  assert.equal(messages[0]?.type, 'ready');
  const plain = await fetch(`${hub.url}/hub-db/subscribe`, { headers: { 'x-api-key': 'k' } });
  assert.equal(plain.status, 400);
});
