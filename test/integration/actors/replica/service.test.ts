import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../../src/db/connection.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createDecoder, reorg } from '../../../support/sync/generated-decoder.ts';
import { differences, type SyncPair, startPair } from '../../../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../../../support/sync/sync-process.ts';

const SIZE = { seed: 'replica service', blocks: 30, rows: 1_000 };

async function createPair(): Promise<SyncPair> {
  const source = await createDatabase('service');
  await createDecoder(source, SIZE);
  return startPair('decoder', source);
}

/** A reorg can end at the height where it began, so equality itself is waited for. */
async function assertBecomesEqual(pair: SyncPair, client: SyncProcess, height: number): Promise<void> {
  let verdict = await pair.settle(client, height);
  await eventually('replica and source are equal', async () => {
    verdict = await pair.settle(client, height);
    return verdict.equal;
  }).catch((fault: Error) =>
    assert.fail(`${fault.message}: ${JSON.stringify(differences(verdict))}\n${client.log().slice(-2000)}`)
  );
}

test('a reorg deeper than MAX_ROLLBACK_DEPTH halts, also across a restart, until an operator clears it', async () => {
  const pair = await createPair();
  const env = { MAX_ROLLBACK_DEPTH: 5 };
  let client = await pair.startClient(env);
  await assertBecomesEqual(pair, client, await appendBlocks(pair.source, 12, 'live', 5));
  const height = await reorg(pair.source, 8, 9, 'deep');
  const isHalted = async () => (await pair.status(client))['phase'] === 'halted';
  await eventually('the replica is halted', isHalted);
  const status = await pair.status(client);
  assert.equal(status['halted'], true);
  await client.end();
  client = await pair.startClient(env);
  await eventually('the replica is halted after its restart', isHalted);
  assert.equal(await client.post('/halt/clear/decoder/litecoin/regtest'), 200);
  await assertBecomesEqual(pair, client, height);
  await client.end();
  await pair.server.end();
});

test('a column, a key and a table that the source gains come to the replica while it is live', async () => {
  const pair = await createPair();
  const client = await pair.startClient();
  await assertBecomesEqual(pair, client, await appendBlocks(pair.source, 2, 'before'));
  const { validators } = (await pair.server.get('/validator-status/decoder/litecoin/regtest')).body;
  assert.match(Object.keys(validators as object).join(), /^[0-9a-f]{64}$/, 'the server knows its client by its key');
  const source = await connect(pair.source);
  await source.query(
    "ALTER TABLE transactions ADD COLUMN label VARCHAR(20) NOT NULL DEFAULT 'none', ADD KEY label (label)"
  );
  await source.query(
    'CREATE TABLE labels (name VARCHAR(20) PRIMARY KEY, weight DOUBLE NULL) ENGINE=InnoDB CHARSET=utf8mb4'
  );
  await source.query("INSERT INTO labels VALUES ('a', 0.1), ('b', NULL)");
  await source.end();
  await assertBecomesEqual(pair, client, await appendBlocks(pair.source, 3, 'after', 20));
  await client.end();
  await pair.server.end();
});

test('rows changed by hand are found before the epoch ends, at a tenth block', async () => {
  const pair = await createPair();
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: 100_000 });
  let height = await appendBlocks(pair.source, 2, 'before');
  await assertBecomesEqual(pair, client, height);
  await sql(pair.replica, 'DELETE FROM transactions ORDER BY tx_index LIMIT 1');
  await eventually('the row is back', async () => {
    height = await appendBlocks(pair.source, 10 - (height % 10), `to ${height}`, 50);
    await pair.settle(client, height);
    return (await pair.compare()).equal;
  });
  await client.end();
  await pair.server.end();
});

test('the next source is followed when the first one does not answer', async () => {
  const pair = await createPair();
  const client = await pair.startClient({ SYNC_SOURCES: `http://127.0.0.1:9,${pair.server.url}` });
  await assertBecomesEqual(pair, client, await appendBlocks(pair.source, 1, 'one'));
  await client.end();
  await pair.server.end();
});

test('two clients on one replica: the second is refused and named, the first goes on', async () => {
  const pair = await createPair();
  const first = await pair.startClient();
  await assertBecomesEqual(pair, first, await appendBlocks(pair.source, 1, 'one'));
  const second = await pair.startClient();
  await eventually('the second says why it waits', async () => /another client writes to/.test(second.log()));
  await assertBecomesEqual(pair, first, await appendBlocks(pair.source, 2, 'two'));
  await second.end();
  await first.end();
  await pair.server.end();
});
