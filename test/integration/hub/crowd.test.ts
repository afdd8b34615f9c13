import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import { hasCode } from '../../../src/errors.ts';
import { PAIRS } from '../../../src/hub/oracle/pairs.ts';
import { openHubDatabase } from '../../../src/hub/store/database.ts';
import { runStatement } from '../../../src/hub/store/statements.ts';
import { createMissing } from '../../../src/hub/store/tables.ts';
import { silentLogger } from '../../../src/log.ts';
import { FaultyLink } from '../../support/faulty-link.ts';
import { runHub } from '../../support/hub/run-hub.ts';
import { createDatabase, testServer } from '../../support/mariadb.ts';

const FOREVER = new AbortController().signal;

test('ANSWERS_WAITING: a full queue for connections says nothing of the database, and its circuit stays closed', async () => {
  const database = openHubDatabase(await createDatabase('hub'), { log: silentLogger });
  await database.prepare(FOREVER);
  const reads = await Promise.allSettled(Array.from({ length: 400 }, () => database.readOnce('highestMarks')));
  const refused = reads.filter((read) => read.status === 'rejected');
  assert.ok(refused.length >= 100, `${refused.length} did not find room`);
  for (const { reason } of refused) assert.ok(hasCode(reason, 'ANSWERS_WAITING'), String(reason));
  assert.equal(database.circuit(), 'closed');
  assert.ok(await database.probe());
  await database.close();
});

test('writers that gave up before their turn cost no connection', async () => {
  const place = await createDatabase('hub');
  const link = await FaultyLink.open(await testServer());
  const database = openHubDatabase(link.through(place), { log: silentLogger });
  await database.prepare(FOREVER);
  await database.write('applyConfigEdits', []);
  const blocker = await connect(place);
  await blocker.query('START TRANSACTION');
  await blocker.query("SELECT * FROM consensus_state WHERE key_name = 'last_seq' FOR UPDATE");
  link.watch();
  await Promise.allSettled(Array.from({ length: 60 }, () => database.write('applyConfigEdits', [])));
  await blocker.end();
  await database.write('applyConfigEdits', []);
  assert.ok(link.connections <= 16, `${link.connections} connections for four places`);
  assert.equal(database.circuit(), 'closed');
  await database.close();
});

test('health of three addresses, 297 at once, opens no circuit: all are answered, and so is everybody else', async (t) => {
  const key = { 'x-api-key': 'a-key-of-this-hub' };
  const hub = await runHub({ HUB_API_KEY: 'a-key-of-this-hub', TRUST_PROXY: '127.0.0.1' });
  t.after(hub.stop);
  const from = (n: number) => ({ 'x-forwarded-for': `203.0.113.${n}` });
  const crowd = Promise.all(
    Array.from({ length: 297 }, (_, n) => hub.call('health', {}, from(1 + Math.floor(n / 99))))
  );
  const honest = await Promise.all(
    Array.from({ length: 20 }, (_, n) => hub.call('getallconfigs', {}, { ...key, ...from(100 + n) }))
  );
  for (const { json } of honest) assert.ok(json.result?.configs, JSON.stringify(json));
  for (const { json } of await crowd)
    assert.deepEqual([json.result.db, json.result.dbCircuit], [true, 'closed'], JSON.stringify(json));
});

test('usage pings of sixty addresses at once are refused to pingers alone', async (t) => {
  const key = { 'x-api-key': 'a-key-of-this-hub' };
  const hub = await runHub({ HUB_API_KEY: 'a-key-of-this-hub', TRUST_PROXY: '127.0.0.1' });
  t.after(hub.stop);
  const ping = async (n: number) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${n}` };
    const body = JSON.stringify({ install_id: randomUUID() });
    return (await fetch(`${hub.url}/telemetry`, { method: 'POST', headers, body })).status;
  };
  await hub.call('pushchaintip', { coin: 'BTC', block_height: 1, block_time: 1 }, key);
  const blocker = await connect(hub.database);
  await blocker.query('START TRANSACTION');
  await blocker.query("SELECT * FROM consensus_state WHERE key_name = 'last_seq' FOR UPDATE");
  const counts = new Map<number, number>();
  const crowd = Array.from({ length: 600 }, async (_, n) => {
    const status = await ping(1 + (n % 60));
    counts.set(status, (counts.get(status) ?? 0) + 1);
  });
  for (const end = Date.now() + 2_000; (counts.get(503) ?? 0) < 300 && Date.now() < end; ) await sleep(20);
  const from = { 'x-forwarded-for': '203.0.113.200' };
  const pushing = hub.call('pushchaintip', { coin: 'BTC', block_height: 2, block_time: 2 }, { ...key, ...from });
  const { json } = await hub.call('getallconfigs', {}, { ...key, ...from });
  assert.ok(json.result?.configs, JSON.stringify(json));
  const health = await hub.call('health', {}, from);
  assert.deepEqual([health.status, health.json.result.dbCircuit], [200, 'closed']);
  assert.equal((await fetch(`${hub.url}/readyz`)).status, 200);
  await blocker.end();
  const pushed = (await pushing).json;
  assert.ok(pushed.result, JSON.stringify(pushed));
  await Promise.all(crowd);
  assert.deepEqual([...counts.keys()].sort(), [200, 503]);
});

/** Returns how many rows and keys MariaDB read for some work. */
async function readsOf(connection: Connection, work: () => Promise<unknown>): Promise<number> {
  await connection.query('FLUSH STATUS');
  await work();
  const found = await rows<{ Value: string }>(connection, "SHOW SESSION STATUS LIKE 'Handler_read%'");
  return found.reduce((sum, { Value }) => sum + Number(Value), 0);
}

test('a push reads no more of a long feed, and a round or health no more of long histories', async (t) => {
  const place = await createDatabase('hub');
  await createMissing(place);
  const connection = await connect(place);
  t.after(() => connection.destroy());
  const price = {
    source_address: 'ltc1qlong',
    source_chain: 'LTC',
    coin: 'LTC',
    tick: 'T',
    fiat: 'USD',
    value: '1',
    fee: null,
    memo: null,
    block_time: 1,
    push_generation: 0
  };
  await connection.query(
    `INSERT INTO oracle_prices (source_address, source_chain, coin, tick, fiat, value, block_time, effective_at, action_index, trusted)
       SELECT 'ltc1qlong', 'LTC', 'LTC', 'T', 'USD', '1', 1, IF(seq = 1, 1, 86401), seq, 1 FROM seq_1_to_4000`
  );
  await connection.query(
    `INSERT INTO validator_rewards (validator_pubkey, round_number, reward_type, amount, block_index, trusted)
       SELECT 'a', seq, 'price', '1', 1, 1 FROM seq_1_to_4000`
  );
  const push = () => runStatement(connection, 'insertOraclePrice', [{ ...price, action_index: 90_000 }, true]);
  const rewards = { round: 1, reward_type: 'price', block_index: 1, rewards: [{ pubkey: 'b', amount: '1' }] };
  const reward = () => runStatement(connection, 'insertRewards', [rewards, false]);

  const pairs = PAIRS.map((pair) => `SELECT '${pair}' AS pair`).join(' UNION ALL ');
  for (const [origin, ahead] of [
    ['hub', 0],
    ['validators', 1_000]
  ] as const)
    await connection.query(
      `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, status, origin, trusted, sources)
         SELECT seq + ?, pair, 100, seq * 600, 1, 'finalized', ?, 1, 1 FROM seq_1_to_300 JOIN (${pairs}) p`,
      [ahead, origin]
    );
  const now = 301 * 600;
  const found = { byPair: new Map(), rules: { configured: 2, minSources: 1 }, isNext: true };
  const oldest = () => runStatement(connection, 'oldestPair', [now]);
  assert.deepEqual(await oldest(), { pair: 'BTC/AUD', ageS: 600 });
  for (const [what, most, work] of [
    ['a push', 100, push],
    ['the latest prices', 100, () => runStatement(connection, 'latestOracleIds', [90_000, 0, 10])],
    ['rewards of a stranger', 100, reward],
    ['health', 500, oldest],
    ['a fee', 20, () => runStatement(connection, 'currentPrice', ['BTC/USD', now + 86_400, now])],
    [
      'a round',
      1_000,
      () => runStatement(connection, 'recordRound', [{ ...found, now: now * 1_000, intervalMs: 600_000 }])
    ]
  ] as const) {
    const read = await readsOf(connection, work);
    assert.ok(read < most, `${what} reads ${read}`);
  }
});

test('rewards of more digits than an amount has are summed, and nobody takes their sum for a fault of the database', async (t) => {
  const hub = await runHub({ HUB_API_KEY: 'a-key-of-this-hub' });
  t.after(hub.stop);
  const key = { 'x-api-key': 'a-key-of-this-hub' };
  const pubkey = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
  await hub.call('registervalidator', { signing_pubkey: pubkey, addr: 'v.example:1' }, key);
  for (const round of [1, 2]) {
    const rewards = [{ pubkey, amount: `${'9'.repeat(40)}.5` }];
    await hub.call('pushvalidatorrewards', { round, reward_type: 'price', block_index: 1, rewards }, key);
  }
  const { json } = await hub.call('getvalidatorstatus', { signing_pubkey: pubkey });
  assert.equal(json.result?.unclaimedRewards, `1${'9'.repeat(40)}`, JSON.stringify(json));
});
