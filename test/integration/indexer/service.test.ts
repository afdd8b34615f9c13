import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/db/connection.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { runExplorer } from '../../support/explorer-process.ts';
import { BOB, blocksOf, holdings, startIndexer } from '../../support/indexer-service.ts';
import { openLink } from '../../support/link.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { databaseEnv } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

test('the service indexes a decoder database, follows its reorgs, survives kill -9, and answers for actions', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100'], [`SEND|0|TOKA|30.5|${BOB}`]]));
    const first = await startIndexer(databases);
    await first.until(({ lastIndexedBlock, synced }) => lastIndexedBlock === 2 && synced === true);
    assert.deepEqual(await holdings(databases), ['Alice 69.5 TOKA', 'Bob 30.5 TOKA']);
    assert.deepEqual(await first.call('getlatestblock'), {
      block_index: 2,
      decoder_block_index: 2,
      decoder_block: 2,
      lag: 0,
      in_flight_block: null,
      is_synced: true
    });
    assert.deepEqual(await first.call('getactionconfirmations', { action_index: 1 }), {
      coin: 'LTC',
      network: 'regtest',
      action_index: 1,
      exists: true,
      action: 'ISSUE',
      block_index: 1,
      latest_block_index: 2,
      confirmations: 2
    });
    assert.equal((await first.call('getactionconfirmations', { action_index: 9 }))['exists'], false);
    const { block_hash, ledger_hash, block_index } = await first.call('getblockhashes', { block_index: 2 });
    assert.deepEqual([block_index, /^[0-9a-f]{64}$/.test(String(ledger_hash))], [2, true]);
    assert.equal(typeof block_hash, 'string');
    const pubkey = 'a'.repeat(64);
    assert.equal((await first.call('getownstake', { pubkey }))['stake'], '0');
    const { min_stake, validators } = await first.call('getcapabilityvalidators', { capability: 'price' });
    assert.deepEqual([min_stake, validators], ['1000', []]);

    assert.equal(await first.call('pushvalidatorrewards', { round: 1 }), undefined, 'rewards come by the chain alone');
    const { action, gasCost, feeExempt } = await first.call('feequote', { action: 'issue' });
    assert.deepEqual([action, gasCost, feeExempt], ['ISSUE', 0, true]);
    assert.equal((await first.call('feeschedule'))['gasTick'], 'GAS');

    await decoder.rollBackTip();
    await decoder.writeBlocks(blocksOf(2, 'b', [[`SEND|0|TOKA|1|${BOB}`], ['DESTROY|0|TOKA|9']], 'a'));
    await first.until(({ lastIndexedBlock }) => lastIndexedBlock === 3);
    assert.deepEqual(await holdings(databases), ['Alice 90 TOKA', 'Bob 1 TOKA']);

    first.child.kill('SIGKILL');
    await first.exited;
    await decoder.writeBlocks(blocksOf(4, 'b', [[`SEND|0|TOKA|1|${BOB}`]]));
    const second = await startIndexer(databases);
    await second.until(({ lastIndexedBlock }) => lastIndexedBlock === 4);
    second.child.kill('SIGTERM');
    assert.equal(await second.exited, 0, second.output());
    assert.deepEqual(await holdings(databases), ['Alice 89 TOKA', 'Bob 2 TOKA']);
  } finally {
    await decoder.database.close();
  }
});

test('an indexer that starts before the database of its decoder, and before it may read it, goes on by itself', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const { name } = databases.decoder;
  await sql(databases.indexer, `DROP DATABASE \`${name}\``);
  const service = await startIndexer(databases);
  const says = (reason: RegExp) => service.until(({ error }) => reason.test(String(error)));
  const account = `'${databases.indexer.name}'@'%'`;
  await says(/Unknown database .*: start the service that makes it, or GRANT the right/);
  await sql(databases.indexer, `REVOKE SELECT ON \`${name}\`.* FROM ${account}`);
  const decoder = await openDecoderStore(databases.decoder);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    await says(/denied/);
    await sql(databases.indexer, `GRANT SELECT ON \`${name}\`.* TO ${account}`);
    await service.until(({ lastIndexedBlock, error }) => lastIndexedBlock === 1 && error === null);
  } finally {
    await decoder.database.close();
  }
});

test('UPSTREAM_STOPPED: a decoder that is gone, or does not go on, is told within 10 s, and what ends it, too', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  let decoder = await openDecoderStore(databases.decoder);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const service = await startIndexer(databases);
    await service.until(({ synced }) => synced === true);
    const explorer = await runExplorer({
      NETWORK: 'RLTC',
      ...databaseEnv('DECODER', databases.decoder),
      ...databaseEnv('INDEXER', databases.indexer)
    });
    const asked = async () => await fetch(`${explorer.url}/api/block/1`);
    assert.equal((await asked()).headers.get('x-stopped-seconds'), null);

    for (const [stop, reason] of [
      [() => decoder.database.tellWaiting(true), /^the decoder does not go on; start the service .* read why it waits/],
      [() => decoder.database.close(), /^no decoder writes the database; start the service/]
    ] as const) {
      const stoppedAt = performance.now();
      await stop();
      const health = await service.until(({ synced }) => synced === false);
      await eventually('the explorer tells it', async () => (await asked()).headers.has('x-stopped-seconds'));
      assert.ok(performance.now() - stoppedAt < 10_000, `${performance.now() - stoppedAt} ms`);
      const { code, reason: alarmReason, remedy } = health['alarm'] as Record<string, string>;
      assert.equal(code, 'UPSTREAM_STOPPED');
      assert.match(`${alarmReason}; ${remedy}`, reason);
      assert.deepEqual([health['status'], health['lag']], ['healthy', 0]);
      assert.equal(await service.readiness(), 503);
      assert.equal((await fetch(`${explorer.url}/readyz`)).status, 503);
      assert.equal((await asked()).headers.get('x-lag-blocks'), '0');
      const { data } = (await (await fetch(`${explorer.url}/api/status`)).json()) as { data: { RLTC: object } };
      assert.match(JSON.stringify(data.RLTC), /"stale":true,.*"stopped_reason":"the indexer does not go on/);
      const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
      assert.match(metrics, /^indexer_upstream_stopped_seconds\{.*\} \d+$/m);

      await decoder.database.close();
      decoder = await openDecoderStore(databases.decoder);
      await service.until(({ synced, alarm }) => synced === true && alarm === undefined);
      assert.equal(await service.readiness(), 200);
      await eventually('the explorer is ready', async () => (await fetch(`${explorer.url}/readyz`)).status === 200);
      assert.equal((await asked()).headers.get('x-stopped-seconds'), null);
    }
    service.child.kill('SIGKILL');
    await service.exited;
    await eventually('the explorer tells of the indexer', async () => {
      const { data } = (await (await fetch(`${explorer.url}/api/status`)).json()) as { data: { RLTC: object } };
      return JSON.stringify(data.RLTC).includes('no indexer writes the database');
    });
  } finally {
    await decoder.database.close();
  }
});

test('WATCHDOG_TIMEOUT: a lock that another session holds ends the process; the guardian starts it again, and it goes on', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const holder = await connect(databases.indexer);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const held = await startIndexer(databases, { INDEXER_BLOCK_TIMEOUT: '3000' }, null);
    await held.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
    await holder.query('START TRANSACTION');
    await holder.query("UPDATE balances SET amount = '100'");
    await decoder.writeBlocks(blocksOf(2, 'a', [[`SEND|0|TOKA|1|${BOB}`]]));
    await eventually('the process ends', async () =>
      /WATCHDOG TIMEOUT: block 2 took more than 3000 ms; its rows .* of transaction e+a2f0 took .*; the next attempt has 6000 ms/.test(
        held.output()
      )
    );
    await eventually('the next attempt takes longer', async () =>
      /WATCHDOG TIMEOUT: block 2 took more than 6000 ms/.test(held.output())
    );
    await holder.query('ROLLBACK');
    await held.until(({ lastIndexedBlock }) => lastIndexedBlock === 2);
    assert.match(held.output(), /the service ended abnormally and will be restarted/);
    assert.deepEqual(await holdings(databases), ['Alice 99 TOKA', 'Bob 1 TOKA']);
    held.child.kill('SIGTERM');
    assert.equal(await held.exited, 0);
  } finally {
    await holder.end();
    await decoder.database.close();
  }
});

test('ROWS_REFUSED: what MariaDB refuses for its content is told as that, and ends by itself', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const hand = await connect(databases.indexer);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const service = await startIndexer(databases);
    await service.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
    assert.equal(await service.readiness(), 200);
    await hand.query('ALTER TABLE sends ADD COLUMN further INT NOT NULL');
    await decoder.writeBlocks(blocksOf(2, 'a', [['BROADCAST|0|hello|1', `SEND|0|TOKA|1|${BOB}`]]));
    const health = await service.until(({ error }) => error != null);
    assert.match(
      String(health['error']),
      /rows of the table sends, action 3 of transaction e+a2f1: Field 'further' doesn't have a default value; compare the table/
    );
    assert.deepEqual([health['status'], health['indexerDbCircuit']], ['unhealthy', 'closed']);
    assert.doesNotMatch(JSON.stringify(health), /check MariaDB/i);
    assert.equal(await service.readiness(), 503);
    await hand.query('ALTER TABLE sends DROP COLUMN further');
    const well = await service.until(({ lastIndexedBlock }) => lastIndexedBlock === 2);
    await service.until(({ error, status }) => error === null && status === 'healthy');
    assert.equal(well['indexerDbCircuit'], 'closed');
    assert.equal(await service.readiness(), 200);
    assert.match(service.output(), /ROWS_REFUSED.*sends/s);
    service.child.kill('SIGTERM');
    assert.equal(await service.exited, 0, service.output());
  } finally {
    await hand.end();
    await decoder.database.close();
  }
});

test('STATEMENT_TOO_SLOW: a statement that takes longer than its limit each time is named, and MariaDB is not blamed', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const holder = await connect(databases.indexer);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const service = await startIndexer(databases, { DB_QUERY_TIMEOUT: '500' });
    await service.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
    await holder.query('START TRANSACTION');
    await holder.query("UPDATE balances SET amount = '100'");
    await decoder.writeBlocks(blocksOf(2, 'a', [[`SEND|0|TOKA|1|${BOB}`]]));
    const status = await service.until(({ alarm }) => Number((alarm as { for_s?: number } | undefined)?.for_s) >= 5);
    const { code, reason, remedy } = status['alarm'] as Record<string, string>;
    assert.equal(code, 'STATEMENT_TOO_SLOW');
    assert.match(`${reason}; ${remedy}`, /longer than DB_QUERY_TIMEOUT; it begins with .*raise DB_QUERY_TIMEOUT; SHOW/);
    assert.deepEqual([status['status'], status['indexerDbCircuit']], ['unhealthy', 'closed'], JSON.stringify(status));
    assert.doesNotMatch(JSON.stringify(status), /check MariaDB/i);
    assert.equal(await service.readiness(), 503);
    await holder.query('ROLLBACK');
    await service.until(({ lastIndexedBlock, alarm }) => lastIndexedBlock === 2 && alarm === undefined);
    assert.equal(await service.readiness(), 200);
    service.child.kill('SIGTERM');
    assert.equal(await service.exited, 0, service.output());
  } finally {
    await holder.end();
    await decoder.database.close();
  }
});

test('LEDGER_INSANE: a balance changed by hand halts; a restart stays halted until an operator clears it', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const hand = await connect(databases.indexer);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const first = await startIndexer(databases);
    await first.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
    first.child.kill('SIGTERM');
    await first.exited;
    await hand.query("UPDATE balances SET amount = '500'");
    await decoder.writeBlocks(blocksOf(2, 'a', [[`SEND|0|TOKA|1|${BOB}`]]));
    const second = await startIndexer(databases, { INDEXER_BLOCK_TIMEOUT: '3000' });
    const health = await second.until(({ error }) => error != null);
    assert.match(String(health['error']), /SANITY CHECK FAILED: supply of TOKA is 100/);
    assert.deepEqual([health['status'], health['running'], health['lastIndexedBlock']], ['unhealthy', false, 1]);
    await sleep(3_500);
    assert.match(String((await second.call('health'))['error']), /SANITY CHECK FAILED/, 'no block is under way');
    second.child.kill('SIGTERM');
    assert.equal(await second.exited, 0, second.output());
    await hand.query("UPDATE balances SET amount = '100'");
    const third = await startIndexer(databases);
    await third.until(({ running, error }) => running === false && error != null);
    third.child.kill('SIGTERM');
    await third.exited;
    const clearing = await startIndexer(databases, {}, ['--clear-halt']);
    assert.equal(await clearing.exited, 0, clearing.output());
    assert.match(clearing.output(), /cleared: .*SANITY CHECK FAILED/);
    const last = await startIndexer(databases);
    await last.until(({ lastIndexedBlock }) => lastIndexedBlock === 2);
    last.child.kill('SIGTERM');
    await last.exited;
  } finally {
    await hand.end();
    await decoder.database.close();
  }
});

test('a MariaDB that stands still is told within 10 s, though no block comes: health, readiness and the alarm', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], []]));
    const link = await openLink(`http://127.0.0.1:${databases.indexer.port}`);
    const service = await startIndexer(
      { ...databases, indexer: { ...databases.indexer, host: '127.0.0.1', port: Number(new URL(link.url).port) } },
      { INDEXER_POLL_INTERVAL: '5000' }
    );
    await service.until(({ synced }) => synced === true);
    const stoppedAt = performance.now();
    link.hold(14_000);
    const { alarm, error } = await service.until(({ status }) => status === 'unhealthy');
    assert.equal((alarm as Record<string, string>)['code'], 'DATABASE_UNAVAILABLE');
    assert.match(String(error), /^the indexer database does not answer; check MariaDB/);
    assert.equal(await service.readiness(), 503);
    assert.ok(performance.now() - stoppedAt < 10_000, `${performance.now() - stoppedAt} ms`);
    await service.until(({ status, alarm: later }) => status === 'healthy' && later === undefined);
    assert.equal(await service.readiness(), 200);
  } finally {
    await decoder.database.close();
  }
});
