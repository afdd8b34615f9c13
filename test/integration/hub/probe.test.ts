import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/db/connection.ts';
import { runHub } from '../../support/hub/run-hub.ts';

test('ping and health wait for no caller whose statements fill every connection', async (t) => {
  const hub = await runHub();
  t.after(hub.stop);
  const write = (n: number) => hub.call('updateconfig', { config: { c: { n: { m: { host: `h${n}` } } } } });
  await write(0);
  const blocker = await connect(hub.database);
  await blocker.query('START TRANSACTION');
  await blocker.query("SELECT * FROM consensus_state WHERE key_name = 'last_seq' FOR UPDATE");
  const writes = Array.from({ length: 30 }, (_, n) => write(n));
  await sleep(500);
  for (const method of ['ping', 'health']) {
    const began = performance.now();
    const { status, json } = await hub.call(method);
    assert.deepEqual([status, json.result.db], [200, true], method);
    assert.ok(performance.now() - began < 1_900, `${method} took ${performance.now() - began} ms`);
  }
  await blocker.end();
  for (const { json } of await Promise.all(writes)) assert.deepEqual(json.result, { status: 'success' });
});

test("writers that wait for the lock of another hub take no reader's place, and leave the circuit closed", async (t) => {
  const key = { 'x-api-key': 'a-key-of-this-hub' };
  const hub = await runHub({ HUB_API_KEY: 'a-key-of-this-hub' });
  t.after(hub.stop);
  const write = (n: number) => hub.call('updateconfig', { config: { c: { n: { m: { host: `h${n}` } } } } }, key);
  await write(0);
  const blocker = await connect(hub.database);
  t.after(() => blocker.end());
  await blocker.query('START TRANSACTION');
  await blocker.query("SELECT * FROM consensus_state WHERE key_name = 'last_seq' FOR UPDATE");
  const writes = Array.from({ length: 35 }, (_, n) => write(n));
  for (let n = 0; n < 12; n++) {
    await sleep(500);
    const began = performance.now();
    const { json } = await hub.call('getallconfigs', {}, key);
    assert.equal(json.result?.configs.c.n.m.host, 'h0', JSON.stringify(json));
    assert.ok(performance.now() - began < 5_000, `${performance.now() - began} ms`);
  }
  for (const { json } of await Promise.all(writes)) assert.equal(json.error.data.code, 'ANSWERS_WAITING');
  assert.equal((await hub.call('health')).json.result.dbCircuit, 'closed');
  await blocker.query('ROLLBACK');
  assert.deepEqual((await write(1)).json.result, { status: 'success' });
});
