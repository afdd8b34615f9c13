import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import nacl from 'tweetnacl';
import { WebSocket } from 'ws';
import { connect } from '../../../src/db/connection.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { RawClient } from '../../support/raw-client.ts';
import { sql } from '../../support/sql.ts';

interface Message {
  readonly type: string;
  readonly table?: string;
  readonly row?: { readonly id: number; readonly value?: string };
  readonly max_ids?: Readonly<Record<string, number>>;
  readonly from_action_index?: number;
}

const PRICE = {
  source_chain: 'LTC',
  source_address: 'ltc1qaddress',
  coin: 'LTC',
  tick: 'TOK',
  fiat: 'USD',
  value: '1.25',
  block_time: 1_700_000_000,
  push_generation: 0
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
  const closed = once(socket, 'close');
  await once(socket, 'open');
  const until = async (what: string, isTrue: () => boolean) => {
    for (const end = Date.now() + PATIENCE_MS; !isTrue(); await sleep(5)) assert.ok(Date.now() < end, what);
  };
  await until('ready', () => messages.length > 0);
  const ids = () => messages.flatMap(({ type, row }) => (type === 'row:inserted' && row ? [row.id] : []));
  return { socket, messages, ids, until, closed };
}

async function start(t: TestContext, env: Record<string, string> = {}) {
  const hub = await runHub(env);
  t.after(hub.stop);
  return hub;
}

/** Tables of which a hub without consensus has no rows. */
const EMPTY = {
  cross_chain_matches: 0,
  capability_snapshots: 0,
  cross_chain_calls: 0,
  state_checkpoints: 0,
  anchor_reward_attestations: 0
};

test('a subscriber is told where it begins, gets each row once and in order, and what a later generation replaced', async (t) => {
  const hub = await start(t);
  await push(hub, 1);
  const { messages, ids, until } = await subscribe(t, hub);
  assert.deepEqual(messages[0]?.max_ids, { ...EMPTY, removals: 0, price_snapshots: 0, oracle_prices: 1 });
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

test('a round of prices that validators signed reaches every subscriber', async (t) => {
  const hub = await start(t);
  const { publicKey, secretKey } = nacl.sign.keyPair();
  const pubkey = Buffer.from(publicKey).toString('hex');
  await hub.call('registervalidator', { signing_pubkey: pubkey, addr: 'validator.example:1' });
  const body = {
    round: 7,
    timestamp: 1_700_000_000,
    btc_block_height: 800_000,
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

test('a reader that stops is closed with 1008, by the count of sends and by the bytes that wait, and others go on', async (t) => {
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

/** Answer of `/hub-db/snapshot/…`. */
interface SnapshotPage {
  readonly table: string;
  readonly rows: readonly { readonly id: number; readonly value?: string }[];
  readonly count: number;
  readonly mode?: string;
  readonly schema_version: number;
  readonly watermark: number;
}

test('snapshots page by id; latest=1 is of each feed the row that holds', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k' });
  for (const [index, value] of ['1', '2', '3'].entries()) await push(hub, index + 1, { value });
  await push(hub, 9, { tick: 'OTHER', block_time: 4_000_000_000 });
  const get = async (path: string, headers: Record<string, string> = { 'x-api-key': 'k' }) => {
    const response = await fetch(`${hub.url}/hub-db/snapshot/${path}`, { headers });
    return { status: response.status, json: (await response.json()) as SnapshotPage };
  };
  const idsOf = ({ rows }: SnapshotPage) => rows.map(({ id }) => id);
  const page = (await get('oracle_prices?since_id=1&limit=2')).json;
  assert.deepEqual(
    [page.table, page.count, page.mode, page.schema_version, idsOf(page)],
    ['oracle_prices', 2, 'page', 4, [2, 3]]
  );
  for (const table of Object.keys(EMPTY)) {
    const { watermark, ...none } = (await get(table)).json;
    assert.ok(Math.abs(watermark - Date.now() / 1_000) < 60);
    assert.deepEqual(none, { table, rows: [], count: 0, schema_version: 4 });
  }
  assert.equal(page.rows[0]?.value, '2');
  for (const latest of ['1', 'true']) assert.deepEqual(idsOf((await get(`oracle_prices?latest=${latest}`)).json), [3]);
  await sql(
    hub.database,
    `INSERT INTO oracle_prices (source_address, source_chain, coin, tick, fiat, value, block_time, effective_at, action_index)
     SELECT CONCAT('many', seq MOD 700), 'LTC', 'LTC', 'T', 'USD', '1', 1, 1, 1000 + seq FROM seq_1_to_1400`
  );
  const many = (await get('oracle_prices?latest=1')).json;
  const newest = await sql(hub.database, 'SELECT id FROM oracle_prices WHERE action_index > 1700 ORDER BY id');
  assert.deepEqual([many.count, idsOf(many)], [701, [3, ...newest.map(({ id }) => id)]], 'over several pages');
  assert.deepEqual(
    idsOf((await get(`oracle_prices?latest=1&since_id=${newest[0]!['id']}&limit=2`)).json),
    newest.slice(1, 3).map(({ id }) => id)
  );
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

/** Rows of rounds with a proof of 2,000 characters, as validators sign them. */
const insertRounds = (hub: RunningHub, from: number, to: number) =>
  sql(
    hub.database,
    `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, consensus_proof, status)
     SELECT seq, 'BTC/USD', 1, 1, 3, REPEAT('p', 2000), 'finalized' FROM seq_${from}_to_${to}`
  );

test('a reader that resumes with 9,000 rows gets all of them and is not cut; one that stops is, and nobody waits for it', async (t) => {
  const hub = await start(t, { WS_BACKPRESSURE_MAX_BYTES: '65536' });
  await insertRounds(hub, 1, 9_000);
  const stopped = await subscribe(t, hub, '?since_id=price_snapshots:0');
  stopped.socket.pause();
  const { messages, ids, until, socket } = await subscribe(t, hub, '?since_id=price_snapshots:0');
  await insertRounds(hub, 9_001, 9_010);
  await push(hub, 1);
  await until('all rows', () => ids().length >= 9_011 || socket.readyState !== socket.OPEN);
  const rounds = await sql(hub.database, 'SELECT id FROM price_snapshots ORDER BY id');
  const idsOf = (wanted: string) => messages.flatMap(({ table, row }) => (table === wanted && row ? [row.id] : []));
  assert.deepEqual(
    idsOf('price_snapshots'),
    rounds.map(({ id }) => id)
  );
  assert.deepEqual(idsOf('oracle_prices'), [1]);
  await push(hub, 2);
  await until('the row after them', () => ids().length === 9_012);
});

test('a subscriber that was away is told of removals too, whichever hub took the push, and while nobody listened', async (t) => {
  const hub = await start(t);
  const second = await runHub({}, { database: hub.database });
  t.after(second.stop);
  await push(hub, 5);
  const away = await subscribe(t, hub);
  assert.deepEqual(away.messages[0]?.max_ids, { ...EMPTY, removals: 0, price_snapshots: 0, oracle_prices: 1 });
  away.socket.close();
  await once(away.socket, 'close');
  await push(second, 5, { value: '9', push_generation: 1 });
  await push(hub, 5, { value: '10', push_generation: 2 });
  const back = await subscribe(t, hub, '?since_id=removals:0,oracle_prices:1');
  await back.until('what was missed', () => back.messages.length >= 4);
  const received = back.messages.map(({ type, row, from_action_index: index, ...more }) => [
    type,
    row?.value ?? index,
    'retraction_generation' in more ? more.retraction_generation : null
  ]);
  assert.deepEqual(received, [
    ['ready', undefined, null],
    ['row:deleted', 5, 1],
    ['row:deleted', 5, 2],
    ['row:inserted', '10', null]
  ]);
  await push(second, 5, { value: '11', push_generation: 3 });
  await push(hub, 6);
  await back.until('what the other hub took', () => back.messages.length >= 7);
  assert.deepEqual(
    back.messages.slice(4).map(({ type, row }) => [type, row?.value]),
    [
      ['row:deleted', undefined],
      ['row:inserted', '11'],
      ['row:inserted', '1.25']
    ]
  );
});

test('a subscriber that was away gets 1,200 removals in their order, and then the rows', async (t) => {
  const hub = await start(t);
  await sql(
    hub.database,
    `INSERT INTO price_removals (table_name, source_chain, from_action_index, to_action_index, retraction_generation)
     SELECT 'oracle_prices', 'LTC', seq, seq, 1 FROM seq_1_to_1200`
  );
  await push(hub, 2_000);
  const { messages, until } = await subscribe(t, hub, '?since_id=removals:0,oracle_prices:0');
  await until('all', () => messages.length >= 1_202);
  assert.deepEqual(
    messages.slice(1).map(({ type, from_action_index: index }) => [type, index]),
    [...Array.from({ length: 1_200 }, (_, at) => ['row:deleted', at + 1]), ['row:inserted', undefined]]
  );
});

test('removals by strangers push out none by trusted callers, and send nobody to a snapshot', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  const key = { authorization: 'Bearer k' };
  const replace = async (action_index: number, push_generation: number, more: Record<string, string>) => {
    const price = { ...PRICE, tick: `T${action_index}`, action_index, push_generation };
    assert.deepEqual((await hub.call('pushoracleprice', price, more)).json.result, { accepted: true });
  };
  for (const generation of [0, 1]) await replace(1, generation, key);
  const countOf = async (trusted: boolean) =>
    Number((await sql(hub.database, `SELECT COUNT(*) AS n FROM price_removals WHERE trusted = ${trusted}`))[0]?.['n']);
  await sql(
    hub.database,
    `INSERT INTO price_removals (table_name, source_chain, from_action_index, to_action_index, retraction_generation, trusted)
     SELECT 'oracle_prices', 'LTC', 2, 2, seq, FALSE FROM seq_1_to_10600`
  );
  for (const generation of [0, 1]) await replace(2, generation, headers);
  assert.deepEqual([await countOf(true), await countOf(false)], [1, 10_001]);
  const { messages, until } = await subscribe(t, hub, '?since_id=removals:0', key);
  await until('the trusted one first', () => messages.length >= 10_003);
  assert.deepEqual([messages[1]?.type, messages[1]?.from_action_index], ['row:deleted', 1]);

  await sql(
    hub.database,
    `INSERT INTO oracle_prices (source_address, source_chain, coin, tick, fiat, value, block_time, effective_at, action_index)
       SELECT 'ltc1qaddress', 'LTC', 'LTC', 'T3', 'USD', '1', 1, 1, 1000 + seq FROM seq_1_to_9999`
  );
  await replace(3, 0, key);
  const removals = () => messages.filter(({ type }) => type === 'row:deleted').length;
  await until('each removal, at the pace of its reader', () => removals() >= 20_001);
  const [left] = await sql(hub.database, "SELECT COUNT(*) AS n FROM oracle_prices WHERE tick = 'T3'");
  assert.equal(Number(left?.['n']), 1, 'who told the feed first fills it for one push');
  assert.equal(await countOf(true), 10_000, 'readers are told of each that the trusted one removed');
});

test('removals are kept as long as the newest 10,000, and a subscriber that was away for longer is told so', async (t) => {
  const hub = await start(t);
  await sql(
    hub.database,
    `INSERT INTO price_removals (table_name, source_chain, from_action_index, to_action_index, retraction_generation)
     SELECT 'oracle_prices', 'LTC', 1, 1, seq FROM seq_1_to_10005`
  );
  await push(hub, 1);
  await push(hub, 1, { push_generation: 1 });
  const kept = (await sql(hub.database, 'SELECT id FROM price_removals ORDER BY id')).map(({ id }) => Number(id));
  assert.equal(kept.length, 10_001, 'one more shows that there were more');
  const { closed } = await subscribe(t, hub, '?since_id=removals:3');
  const [code, reason] = await closed;
  assert.deepEqual([code, String(reason)], [1008, 'more than 10000 removals: take a snapshot first']);
  const { messages, until } = await subscribe(t, hub, `?since_id=removals:${kept[0]}`);
  await until('the others', () => messages.length === kept.length);
});

test('an address that asks for thirty pages has three statements of the database under way, and others have their turn', async (t) => {
  const hub = await start(t);
  await push(hub, 1);
  const holder = await connect(hub.database);
  t.after(() => holder.destroy());
  await holder.query('LOCK TABLES price_snapshots WRITE');
  const ask = 'GET /hub-db/snapshot/price_snapshots HTTP/1.1\r\nHost: x\r\n\r\n';
  const clients = await Promise.all(Array.from({ length: 30 }, () => RawClient.open(`127.0.0.1:${hub.port}`)));
  t.after(() => clients.forEach(({ socket }) => void socket.destroy()));
  for (const client of clients) client.say(ask);
  const waiting = `SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST
    WHERE DB = '${hub.database.name}' AND STATE LIKE 'Waiting for table%' AND INFO LIKE '%SELECT%' AND INFO NOT LIKE 'DELETE%'`; // the hub looks for old rows too
  const countOf = async () => Number((await sql(hub.database, waiting))[0]?.['n']);
  for (const end = Date.now() + PATIENCE_MS; (await countOf()) < 3; await sleep(20)) assert.ok(Date.now() < end);
  await sleep(300);
  assert.equal(await countOf(), 3);
  const other = await fetch(`${hub.url}/hub-db/snapshot/oracle_prices`, { signal: AbortSignal.timeout(5_000) });
  assert.equal(((await other.json()) as { count: number }).count, 1);
});
