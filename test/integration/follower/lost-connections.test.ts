import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { ExclusiveDatabase } from '../../../src/db/exclusive-database.ts';
import { query, startLoop } from '../../support/decoder/loop.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

test("a writer's connection that was ended while it rested is opened again before the next block comes", async () => {
  const { node } = await startTestLitecoind();
  await node.mine(2);
  const database = await createDatabase('rested');
  const decoder = startLoop({ database, node, network: chainNetwork('litecoin', 'regtest'), magic: 'TEST' });
  await decoder.reach(2, await node.rpc.call('getbestblockhash'));
  const holder = async () =>
    (await query(database, `SELECT IS_USED_LOCK('decoder ${database.name}') AS id`))[0]?.['id'] ?? null;
  const before = await holder();
  await query(database, `KILL CONNECTION ${before}`);
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(20)) {
    const now = await holder();
    if (now !== null && now !== before) break;
    assert.ok(Date.now() < end, 'the lock is held again');
  }
  await decoder.reach(2, await node.rpc.call('getbestblockhash'));
  await node.mine(1);
  const { length } = decoder.states;
  await decoder.reach(3, await node.rpc.call('getbestblockhash'));
  assert.ok(!decoder.states.slice(length).includes('reconnecting'));
  await decoder.stop();
});

test('whether the database answers is asked beside its readers, however many wait', async () => {
  const options = { service: 'tracker', prepare: async () => undefined } as const;
  const database = await ExclusiveDatabase.open(await createDatabase('probed'), options);
  const crowd = Array.from({ length: 300 }, () => database.pool.query('SELECT SLEEP(1.5)').catch(() => undefined));
  await sleep(200);
  assert.equal(await database.probe(1_000), true);
  await database.close();
  await Promise.all(crowd);
});
