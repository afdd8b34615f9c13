import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/db/core/connection.ts';
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
