import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/db/connection.ts';
import { hasCode } from '../../../src/errors.ts';
import { openHubDatabase } from '../../../src/hub/store/database.ts';
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
