import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { createExplored } from '../support/explorer-database.ts';
import { startExplorer } from '../support/explorer-process.ts';
import { addAllBlocks } from '../support/indexer-database.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { faultsOf, OWN_FRAMES, readFacts } from '../support/shape.ts';
import { sql } from '../support/sql.ts';

interface Frame {
  readonly type: string;
  readonly id?: unknown;
  readonly catch_up?: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Fields that existing clients read of frames: of all, and of the data of each type. */
const {
  every: EVERY,
  frames,
  snapshots: SNAPSHOTS,
  welcome: KNOWN
} = readFacts<{
  readonly every: string;
  /** Members of WELCOME that are the same everywhere. */
  readonly welcome: Readonly<Record<string, unknown>>;
  readonly frames: Readonly<Record<string, string>>;
  /** Fields of SNAPSHOT by its channel. */
  readonly snapshots: Readonly<Record<string, string>>;
}>('websocket');
const MARKET = readFacts<{ readonly paths: Readonly<Record<string, { readonly fields: string }>> }>('explorer').paths[
  '/market/{TICK1}/{TICK2}'
]!.fields;
const FRAMES: typeof frames = { ...frames, ...OWN_FRAMES };

let explored: Awaited<ReturnType<typeof createExplored>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
before(async () => {
  explored = await createExplored();
  explorer = await startExplorer(explored, { EXPLORER_RATE_LIMIT_RPM: '100000' });
});
after(() => explored.store.close());

async function connect(t: TestContext, fields: 'all' | 'some' = 'all') {
  const socket = new WebSocket(`ws://127.0.0.1:${explorer.port}/RBTC/api/websocket`);
  const frames: Frame[] = [];
  socket.on('message', (data) => frames.push(JSON.parse(String(data)) as Frame));
  t.after(() => {
    socket.terminate();
    for (const frame of fields === 'all' ? frames : []) {
      const { type, data } = frame;
      const more = type === 'SNAPSHOT' ? (SNAPSHOTS[String(data['channel'])] ?? '') : '';
      const faults = [...faultsOf(frame, EVERY), ...faultsOf(data, `${FRAMES[type] ?? `${type}:known!`} ${more}`)];
      assert.deepEqual(faults, [], JSON.stringify(frame));
    }
  });
  await once(socket, 'open');
  const until = async (type: string, isWanted: (frame: Frame) => boolean = () => true): Promise<Frame> => {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(20)) {
      const found = frames.find((frame) => frame.type === type && isWanted(frame));
      if (found) return found;
      assert.ok(Date.now() < end, `${type}: ${JSON.stringify(frames)}`);
    }
  };
  return { socket, frames, until, send: (message: object) => socket.send(JSON.stringify(message)) };
}

test('WELCOME first, then what the client subscribes to, each with its id', async (t) => {
  const client = await connect(t);
  const welcome = await client.until('WELCOME');
  assert.equal(client.frames[0], welcome);
  assert.deepEqual(faultsOf(welcome, 'chain:text! network:text!'), []);
  for (const [name, value] of Object.entries(KNOWN)) assert.deepEqual(welcome.data[name], value, name);
  client.send({ action: 'ping', id: 1 });
  assert.equal((await client.until('pong')).id, 1);
  const whole = ['blocks', 'actions', 'mempool', 'network', 'attestation'];
  client.send({
    action: 'subscribe',
    id: 2,
    channels: whole,
    params: { ticks: ['TOKA'], types: null, snapshot: true }
  });
  for (const channel of whole) {
    const { data } = await client.until('SUBSCRIBED', (frame) => frame.data['channel'] === channel);
    assert.deepEqual(data['ignored_filters'], ['ticks'], channel);
  }
  for (const channel of ['blocks', 'network'])
    await client.until('SNAPSHOT', ({ data }) => data['channel'] === channel);
  const brief = await connect(t, 'some');
  brief.send({ action: 'subscribe', channels: ['blocks'], params: { once: true, fields: ['block_index'] } });
  await brief.until('SUBSCRIBED');
  const unused = { address: null, tick1: null, tick2: null, action_index: null, fields: null, once: null };
  const addresses = { ...unused, addresses: ['A', 'B'], since_action_index: null, snapshot: true };
  client.send({ action: 'subscribe', id: 3, channels: ['address'], params: addresses });
  client.send({ action: 'subscribe', channels: ['token'], params: { tick: 'TOKA' } });
  const pairs = [['TOKA', 'TOKB'], { tick1: 'TOKA', tick2: 'GAS' }];
  client.send({ action: 'subscribe', channels: ['market'], params: { ...unused, pairs, snapshot: true } });
  const [oldest] = await sql(explored.indexer, 'SELECT MIN(dispenser_action_index) AS at FROM dispenser_statuses');
  client.send({
    action: 'subscribe',
    channels: ['dispenser', 'bet_feed'],
    params: { ...unused, action_indexes: [String(oldest!['at'])], statuses: ['open'] }
  });
  for (const tick2 of ['TOKB', 'GAS']) await client.until('SNAPSHOT', ({ data }) => data['tick2'] === tick2);
  client.send({ action: 'list_subscriptions', id: 'x' });
  const list = await client.until('SUBSCRIPTION_LIST');
  assert.deepEqual([list.id, list.data['count'], list.data['limit']], ['x', 12, 25]);
  const held = await client.until('SNAPSHOT', ({ data }) => data['address'] === 'A');
  assert.ok((held.data['balances'] as unknown[]).length > 0);

  const tip = explored.blocks.length;
  await explored.store.rollBack(tip);
  await client.until('REORG', ({ data }) => data['block_index'] === String(tip - 1));
  await addAllBlocks(explored.store, explored.blocks.slice(-1));
  const block = await client.until('NEW_BLOCK', ({ data }) => data['block_index'] === String(tip));
  assert.deepEqual(faultsOf(block.data, 'block_hash:text! block_time:int!'), []);
  await client.until('NEW_ACTION', ({ data }) => data['block_index'] === String(tip));
  await client.until('NETWORK_STATS');
  const market = await client.until('MARKET_UPDATE', ({ data }) => data['tick2'] === 'TOKB');
  assert.deepEqual(faultsOf(market.data, MARKET), []);
  assert.deepEqual(Object.keys((await brief.until('NEW_BLOCK')).data), ['block_index']);
  assert.equal((await brief.until('UNSUBSCRIBED')).data['reason'], 'once');
  client.send({ action: 'unsubscribe', channels: ['actions'] });
  await client.until('UNSUBSCRIBED');
});

test('later states of orders and payments have frames of their own, which types may choose alone', async (t) => {
  const [all, some] = [await connect(t), await connect(t)];
  all.send({ action: 'subscribe', channels: ['actions'] });
  some.send({ action: 'subscribe', channels: ['actions'], params: { types: ['ORDER_EXPIRED'] } });
  for (const { until } of [all, some]) await until('SUBSCRIBED');
  await sleep(1_500);
  const time = 1_700_000_000 + 1_800 * explored.blocks.length;
  const block = (after: number, transactions: readonly object[]) => ({
    height: explored.blocks.length + after,
    time: time + 3_600 * after,
    hash: `e${after}`.padStart(64, 'e'),
    transactions: transactions.map((each, at) => ({ hash: `e${after}${at}`.padStart(64, 'e'), fee: null, ...each }))
  });
  const offers = [
    ['A', 'ISSUE|0|LIFE|||||10'],
    ['A', 'ORDER|0|BTC|LIFE|4|0|BTC||0.4'],
    ['B', 'ORDER|0|BTC||0.4|0|BTC|LIFE|4'],
    ['A', `ORDER|0|BTC|LIFE|1|0|BTC|TOKA|900|||${time + 3_601}`],
    ['A', `SWAP|0|BTC|LIFE|1|0|BTC|TOKA|900|||${time + 3_601}`],
    ['A', `DISPENSER|0|BTC|LIFE|1|0|1|BTC||0.01|||||${time + 3_601}`],
    ['A', 'DISPENSER|0|BTC|LIFE|1|0|1|BTC||0.02']
  ].map(([source, data]) => ({ source, data }));
  await explored.store.addBlocks([block(1, offers) as never]);
  const match = await newest('order_matches');
  const required = await all.until('COINPAY_REQUIRED');
  const { expiration, ...owed } = required.data;
  assert.match(String(expiration), /^\d+$/);
  assert.deepEqual(owed, {
    obligation_action_index: match,
    order_match_action_index: match,
    payer_address: 'B',
    payee_address: 'A',
    coin_amount: '0.4'
  });
  const outputs = [{ vout: 0, address: 'A', amount: 4n * 10n ** 17n }];
  const dispenser = await newest('dispensers');
  // An action that is no dispenser has no state: its frames would lack what clients read of one.
  for (const action_index of [await newest('issues'), dispenser])
    all.send({ action: 'subscribe', channels: ['dispenser'], params: { action_index, snapshot: true } });
  await all.until('SNAPSHOT', ({ data }) => data['action_index'] === dispenser && data['status'] === 'open');
  const acts = [
    { source: 'B', data: `COINPAY|0|${match}`, outputs },
    { source: 'A', data: `DISPENSER|1|${dispenser}|` },
    { source: 'A', data: 'ORDER|0|BTC|LIFE|1|0|BTC||0.1' },
    { source: 'B', data: 'ORDER|0|BTC||0.1|0|BTC|LIFE|1' }
  ];
  await explored.store.addBlocks([block(2, acts) as never]);
  await all.until('DISPENSER_UPDATE', ({ data }) => data['status'] === 'cancelling');
  const paid = await all.until('COINPAY_FULFILLED');
  assert.deepEqual(faultsOf(paid.data, 'tx_hash:hash! source:text! status:text!'), []);
  assert.equal(paid.data['action_index'], await newest('coinpays'));
  const later = Array.from({ length: 12 }, (_, n) => block(3 + n, []));
  await addAllBlocks(explored.store, later as never); // times are medians of blocks
  const expired = await all.until('ORDER_EXPIRED');
  assert.deepEqual([expired.data['action_index'], expired.data['status']], [await newest('order_expires'), 'expired']);
  for (const [type, table] of [
    ['SWAP_EXPIRED', 'swap_expires'],
    ['DISPENSER_EXPIRED', 'dispenser_expires'],
    ['DISPENSER_CLOSED', 'dispenser_closes'],
    ['COINPAY_EXPIRED', 'coinpay_expires']
  ] as const)
    assert.equal((await all.until(type)).data['action_index'], await newest(table), type);
  assert.deepEqual((await some.until('ORDER_EXPIRED')).data, expired.data);
  assert.deepEqual(
    some.frames.map(({ type }) => type),
    ['WELCOME', 'SUBSCRIBED', 'ORDER_EXPIRED']
  );
  for (const client of [all, some]) client.socket.terminate();
});

/** Returns the newest action of a table; of those with a status, the newest that was taken. */
async function newest(table: string): Promise<string> {
  const taken = "status_id IN (SELECT id FROM index_statuses WHERE status NOT LIKE 'invalid%')";
  const [row] = await sql(explored.indexer, `SELECT MAX(action_index) AS at FROM ${table} WHERE ${taken}`);
  return String(row!['at']);
}

test('arrivals in the mempool and departures are told, by the kinds that a client wants', async (t) => {
  const [all, some] = [await connect(t), await connect(t)];
  all.send({ action: 'subscribe', channels: ['mempool'] });
  some.send({ action: 'subscribe', channels: ['mempool'], params: { types: ['MINT'] } });
  await sleep(4_500);
  const [sent, minted] = ['c1'.padStart(64, '0'), 'c2'.padStart(64, '0')];
  await sql(
    explored.decoder,
    `INSERT INTO mempool_transactions (tx_hash, source, data) VALUES ('${sent}', 'A', 'SEND|0|TOKA|1|B'), ('${minted}', 'B', 'MINT|0|TOKB|1')`
  );
  const { data } = await all.until('MEMPOOL_ACTION', ({ data: { tx_hash } }) => tx_hash === sent);
  assert.deepEqual(data, { tx_hash: sent, source: 'A', action: 'SEND', data: 'SEND|0|TOKA|1|B' });
  await some.until('MEMPOOL_ACTION', ({ data: { tx_hash } }) => tx_hash === minted);
  await sql(explored.decoder, `DELETE FROM mempool_transactions WHERE tx_hash IN ('${sent}', '${minted}')`);
  assert.deepEqual((await all.until('MEMPOOL_REMOVED')).data, { tx_hash: sent });
  await some.until('MEMPOOL_REMOVED', ({ data: { tx_hash } }) => tx_hash === minted);
  for (const { data: content } of some.frames) assert.notEqual(content['tx_hash'], sent);
  for (const client of [all, some]) client.socket.terminate();
});

test('after a cut a client gets what it missed, and is told when that is all', async (t) => {
  const client = await connect(t);
  const { latest_action_index: latest } = (await client.until('WELCOME')).data;
  const since = Number(latest) - 5;
  client.send({ action: 'subscribe', id: 9, channels: ['actions'], params: { since_action_index: since } });
  const done = await client.until('CATCH_UP_COMPLETE');
  assert.deepEqual([done.id, done.data], [9, { events_replayed: 5, latest_action_index: latest, truncated: false }]);
  const missed = client.frames.filter(({ type }) => type === 'NEW_ACTION');
  assert.deepEqual(
    missed.map(({ data, catch_up }) => [data['action_index'], catch_up]),
    Array.from({ length: 5 }, (_, n) => [String(since + 1 + n), true])
  );
});

test('a wrong message is answered by an error frame with a code, and the connection stays; an address has five', async (t) => {
  const client = await connect(t);
  await client.until('WELCOME');
  const many = Array.from({ length: 26 }, (_, n) => `A${n}`);
  for (const [message, code] of [
    [{ action: 'sing' }, 'INVALID_ACTION'],
    [{ action: 'subscribe', channels: ['songs'] }, 'INVALID_CHANNEL'],
    [{ action: 'subscribe', channels: ['actions'], params: { types: ['SONG'] } }, 'INVALID_TYPE'],
    [{ action: 'subscribe', channels: ['address'] }, 'INVALID_PARAMS'],
    [{ action: 'subscribe', channels: ['dispenser'], params: { action_index: '07' } }, 'INVALID_PARAMS'],
    [{ action: 'subscribe', channels: ['address'], params: { addresses: many } }, 'SUBSCRIPTION_LIMIT']
  ] as const) {
    client.send({ ...message, id: code });
    assert.equal((await client.until('error', ({ id, data }) => id === code && data['code'] === code)).id, code);
  }
  client.send({ action: 'ping', id: 'x'.repeat(1_024) });
  await client.until('error', ({ data }) => /at most 1024 bytes/.test(String(data['message'])));
  for (let n = 0; n < 30; n++) client.send({ action: 'ping' });
  await client.until('error', ({ data }) => data['code'] === 'RATE_LIMITED');
  client.socket.send('{');
  assert.equal(client.socket.readyState, WebSocket.OPEN);
  const crowd = await Promise.all(Array.from({ length: 4 }, () => connect(t)));
  for (const each of crowd) await each.until('WELCOME');
  for (const [coin, status] of [
    ['RBTC', 429],
    ['XYZ', 400]
  ] as const) {
    const refused = new WebSocket(`ws://127.0.0.1:${explorer.port}/${coin}/api/websocket`);
    const [, { statusCode }] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }];
    refused.on('error', () => undefined).terminate();
    assert.equal(statusCode, status, coin);
  }
});
