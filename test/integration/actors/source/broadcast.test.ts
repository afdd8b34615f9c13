import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { INFRA_TABLES } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, sql } from '../../../support/sql.ts';
import * as decoder from '../../../support/sync/generated-decoder.ts';
import { appendBacklog, appendBlocks, createIndexer, reorg } from '../../../support/sync/generated-indexer.ts';
import { ReplicaWatch } from '../../../support/sync/replica-watch.ts';

test('single blocks, a backlog of 50 and reorgs of depth 1 and 30 keep a replica equal to its source', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 30, rows: 1_000 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(129);
  await settle(await appendBlocks(database, 3, 'a'));
  const backlog = await appendBacklog(database, 50, 'a');
  await settle(backlog);
  const last = source.messages.at(-1);
  assert.ok(last?.type === 'block');
  assert.deepEqual(last.group, { first: backlog - 49, last: backlog });
  const earlier = source.messages.filter((message) => message.type === 'block' && message.block_index < backlog);
  assert.ok(earlier.slice(-49).every((message) => message.type === 'block' && message.updated_rows === undefined));
  await settle(await reorg(database, 1, 3, 'a'));
  await settle(await reorg(database, 30, 31, 'b'));
  await settle(await appendBlocks(database, 2, 'a'));
  assert.ok(source.messages.some(({ type }) => type === 'reorg'));
  assert.ok(source.states.includes('reorging'));
});

test('ids that a reorg took and the new branch deals again name what they name there, however many there are', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 5, rows: 100 });
  await sql(
    database,
    'CREATE TABLE index_names (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9) NOT NULL UNIQUE)',
    "INSERT INTO index_names VALUES (1, 'first')"
  );
  const insertNames = (name: string) => `INSERT INTO index_names SELECT seq, CONCAT('${name}', seq) FROM seq_2_to_600`;
  const { settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(104);
  await sql(database, insertNames('old'));
  await settle(await appendBlocks(database, 1, 'a'));
  await sql(database, 'DELETE FROM index_names WHERE id > 1', insertNames('new'));
  await settle(await reorg(database, 1, 2, 'b'));
});

test('a decoder database is broadcast with its block hash, dispensers never', async (t) => {
  const database = await createDatabase('source');
  await decoder.createDecoder(database, { seed: 'a', blocks: 20, rows: 600 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'decoder');
  await settle(119);
  await settle(await decoder.appendBacklog(database, 5, 'a'));
  await settle(await decoder.reorg(database, 3, 4, 'b'));
  const [first, second] = source.messages;
  assert.ok(first?.type === 'block' && second?.type === 'block');
  assert.match(String(first.block_hash), /^[0-9a-f]{64}$/);
  assert.equal(second.previous_hash, first.block_hash);
  assert.equal(first.schema_version, 3);
  assert.ok(source.messages.every((message) => message.type === 'reorg' || message.data['dispensers'] === undefined));
  assert.ok(source.messages.every((message) => message.type === 'reorg' || message.data['sync_meta'] === undefined));
  assert.equal(source.infra.length, 0);
});

test('a reorg of the tip at equal height is seen', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 10, rows: 200 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(109);
  const height = await appendBlocks(database, 1, 'a');
  await settle(height);
  assert.equal(await reorg(database, 1, 1, 'other'), height);
  await source.until(() => source.messages.some(({ type }) => type === 'reorg'), 'a reorg');
  await settle(height);
  const { length } = source.messages.filter((message) => message.block_index === height);
  assert.equal(length, 3, 'the block, the reorg, and the other block');
});

test('rows changed in place, deleted and dated back travel with the next block', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 40, rows: 1_200 });
  await sql(database, 'CREATE TABLE capabilities (name VARCHAR(64) NOT NULL, version VARCHAR(16) NOT NULL)');
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(139);
  await sql(
    database,
    'DELETE FROM credits ORDER BY action_index LIMIT 3',
    "UPDATE sends SET amount = '7' ORDER BY action_index LIMIT 2",
    "UPDATE tokens SET description = 'changed' ORDER BY tick_id LIMIT 1",
    'DELETE FROM balances ORDER BY address_id LIMIT 1',
    "INSERT INTO validator_rewards (block_index, source_id, signing_pubkey_id, reward_type, amount) VALUES (101, 1, 1, 'late', '5')",
    "INSERT INTO capabilities (name, version) VALUES ('twice', '1'), ('twice', '1')",
    'DELETE FROM events ORDER BY id LIMIT 1',
    'INSERT INTO icons (token_id) VALUES (9999)'
  );
  await settle(await addEmptyBlock(database));
  const last = source.messages.at(-1);
  assert.ok(last?.type === 'block' && last.ranges && last.deleted_rows);
  assert.ok(last.ranges['credits'] && last.ranges['sends']);
  assert.deepEqual(last.ranges['validator_rewards']?.spans, [[101, 101]]);
  assert.equal(last.deleted_rows['balances']?.length, 1);
  assert.equal(last.updated_rows?.['capabilities']?.length, 2);
  assert.equal(last.data['icons'] ?? last.updated_rows?.['icons'], undefined, 'node-local tables stay where they are');
  await settle(await addEmptyBlock(database));
  const next = source.messages.at(-1);
  assert.ok(next?.type === 'block');
  assert.deepEqual(Object.keys(next.data).sort(), ['blocks', 'sync_meta'], 'what did not change is not sent again');
  assert.deepEqual(next.updated_rows, {});
  assert.equal(next.ranges, undefined);
});

test('rows older than the compared blocks are found by their new ids', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 10, rows: 200 });
  await sql(
    database,
    `INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id)
     SELECT block_index + seq, block_time + seq, ledger_hash_id, actions_hash_id, contract_hash_id
     FROM blocks JOIN seq_1_to_1000 WHERE block_index = 109`
  );
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(1_109);
  await sql(
    database,
    "INSERT INTO validator_rewards (block_index, source_id, signing_pubkey_id, reward_type, amount) VALUES (103, 1, 1, 'late', '5')"
  );
  await settle(await addEmptyBlock(database));
  const last = source.messages.at(-1);
  assert.ok(last?.type === 'block');
  assert.deepEqual(Object.keys(last.ranges ?? {}), ['validator_rewards']);
  assert.deepEqual(last.ranges?.['validator_rewards']?.spans, [[103, 103]]);
});

test('tables outside InnoDB are replicated while nothing moves under the read', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 10, rows: 200 });
  await sql(database, 'ALTER TABLE fees ENGINE=MyISAM', 'ALTER TABLE markets ENGINE=MyISAM');
  const { settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(109);
  await settle(await appendBlocks(database, 12, 'a'));
  await settle(await reorg(database, 3, 5, 'b'));
});

test('an infra-only message holds the ten tables only', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 10, rows: 200 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(109);
  await settle(await appendBacklog(database, 10, 'a'));
  assert.equal(source.infra.length, 10);
  for (const message of source.infra) {
    assert.ok(message.type === 'block');
    assert.equal(message.sync_mode, 'infra-only');
    const tables = [message.data, message.updated_rows ?? {}, message.ranges ?? {}].flatMap(Object.keys);
    assert.deepEqual(
      tables.filter((table) => !INFRA_TABLES.has(table)),
      []
    );
  }
});

test('a reorg of blocks that were there before the start brings the new branch whole', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 20, rows: 600 });
  const { source, replica } = await ReplicaWatch.start(t, database, 'indexer');
  await source.reaches(119);
  const height = await reorg(database, 8, 9, 'b');
  await source.reaches(height);
  const sent = source.messages.flatMap((message) =>
    message.type === 'block' ? (message.data['index_transactions'] ?? []).map((row) => row['id']) : []
  );
  const ids = await sql(database, 'SELECT tx_hash_id AS id FROM transactions WHERE block_index >= 112');
  assert.deepEqual(
    ids.filter(({ id }) => !sent.includes(id)),
    [],
    'ids are dealt again'
  );
  assert.equal(source.messages[0]?.block_index, 112);
  assert.equal(replica.height, 119);
});

test('rows that a snapshot saw between two blocks, and that changed back since, do not stay with its readers', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 20, rows: 600 });
  await sql(
    database,
    'CREATE TABLE zz_state (name VARCHAR(9) PRIMARY KEY, value INT)',
    'CREATE TABLE zz_log (block_index INT NOT NULL, value INT)',
    "INSERT INTO zz_state VALUES ('a', 1), ('b', 1)",
    'INSERT INTO zz_log VALUES (119, 1), (110, 1)'
  );
  const watch = await ReplicaWatch.start(t, database, 'indexer');
  await watch.settle(119);
  await sql(database, "UPDATE zz_state SET value = 2 WHERE name = 'a'", 'UPDATE zz_log SET value = 2');
  await watch.reload();
  await sql(database, "UPDATE zz_state SET value = 1 WHERE name = 'a'", 'UPDATE zz_log SET value = 1');
  await watch.settle(await appendBlocks(database, 1, 'a'));
  const last = watch.source.messages.at(-1);
  assert.ok(last?.type === 'block');
  assert.deepEqual(
    last.ranges?.['zz_state']?.rows.map(({ name }) => name),
    ['a']
  );
  assert.deepEqual(last.ranges['zz_log']?.spans, [
    [110, 110],
    [119, 119]
  ]);
});

test('lookup rows that a reorg had not taken yet when a snapshot was read do not stay with its readers', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 20, rows: 600 });
  await sql(
    database,
    'CREATE TABLE index_names (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9) NOT NULL UNIQUE)',
    "INSERT INTO index_names (name) VALUES ('one'), ('two')"
  );
  const watch = await ReplicaWatch.start(t, database, 'indexer');
  await watch.settle(119);
  await sql(database, "INSERT INTO index_names (name) VALUES ('three'), ('four'), ('five')");
  await watch.reload();
  await sql(database, "DELETE FROM index_names WHERE name IN ('three', 'five')");
  await watch.settle(await appendBlocks(database, 1, 'a'));
  const last = watch.source.messages.at(-1);
  assert.ok(last?.type === 'block');
  assert.deepEqual(last.deleted_rows?.['index_names'], [{ id: 3 }, { id: 5 }]);
  await watch.settle(await appendBlocks(database, 1, 'a'));
  const next = watch.source.messages.at(-1);
  assert.ok(next?.type === 'block');
  assert.equal(next.deleted_rows?.['index_names'], undefined);
  await sql(database, "DELETE FROM index_names WHERE name = 'one'");
  await watch.settle(await appendBlocks(database, 1, 'a'));
  const later = watch.source.messages.at(-1);
  assert.ok(later?.type === 'block');
  assert.deepEqual(later.deleted_rows?.['index_names'], [{ id: 1 }], 'a row that was broadcast, taken without a reorg');
});

test('no group begins until the readers of a snapshot are reconciled, and the next one says what they lack', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 5, rows: 100 });
  await sql(
    database,
    'CREATE TABLE zz_state (name VARCHAR(9) PRIMARY KEY, value INT)',
    "INSERT INTO zz_state VALUES ('a', 1)"
  );
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(104);
  await source.handle.ask('snapshot.pauseGroups', { buildId: 'one', height: 104 });
  const checksums = { height: 104, tables: { zz_state: { from: null, to: null, entries: [] } }, lookups: {} };
  await appendBlocks(database, 1, 'a');
  await source.until(() => source.report?.tip === 105, 'the new tip');
  await sleep(1_000); // several polls
  assert.equal(source.resume?.height, 104);
  await source.handle.ask('snapshot.reconcile', { buildId: 'one', checksums });
  await settle(105);
  const last = source.messages.at(-1);
  assert.ok(last?.type === 'block');
  const sentRows = last.updated_rows?.['zz_state'] ?? last.ranges?.['zz_state']?.rows;
  assert.deepEqual(
    sentRows?.map(({ name }) => name),
    ['a']
  );
});

test('a snapshot of a block that was not broadcast yet ends when it is', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 5, rows: 100 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(104);
  let isHeld = false;
  const held = source.handle.ask('snapshot.pauseGroups', { buildId: 'one', height: 105 }).then(() => (isHeld = true));
  await source.handle.ask('schema.read', {});
  assert.equal(isHeld, false);
  await settle(await appendBlocks(database, 1, 'a'));
  await held;
  await source.handle.ask('snapshot.reconcile', { buildId: 'one', checksums: null });
  await settle(await appendBlocks(database, 1, 'a'));
});

test('a source that dies before it knows what a snapshot saw leaves to its successor to say everything again', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 5, rows: 100 });
  await sql(
    database,
    'CREATE TABLE zz_state (name VARCHAR(9) PRIMARY KEY, value INT)',
    'CREATE TABLE zz_log (block_index INT NOT NULL, value INT)',
    "INSERT INTO zz_state VALUES ('a', 1)",
    'INSERT INTO zz_log VALUES (103, 1)'
  );
  const watch = await ReplicaWatch.start(t, database, 'indexer');
  await watch.settle(104);
  await watch.source.handle.ask('snapshot.pauseGroups', { buildId: 'one', height: 104 });
  await watch.kill();
  watch.resume();
  await watch.settle(await appendBlocks(database, 1, 'a'));
  const last = watch.source.messages.at(-1);
  assert.ok(last?.type === 'block');
  assert.equal(last.ranges?.['zz_state']?.rows.length, 1);
  assert.ok(last.ranges['zz_log']?.rows.some((row) => row['block_index'] === 103));
});

test('a schema change between two blocks travels with the next one', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 20, rows: 600 });
  const { source, replica, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(119);
  await settle(await appendBlocks(database, 1, 'a'));
  const before = source.messages.at(-1);
  await sql(
    database,
    "ALTER TABLE sends ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'none'",
    'CREATE TABLE later (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, UNIQUE KEY (name))',
    "INSERT INTO later (name) VALUES ('one'), ('two')"
  );
  await replica.readSchema(database);
  await settle(await appendBlocks(database, 2, 'a'));
  const after = source.messages.at(-1);
  assert.ok(before?.type === 'block' && after?.type === 'block');
  assert.notEqual(after.schema_fingerprint, before.schema_fingerprint);
  assert.equal(source.report?.schemaFingerprint, after.schema_fingerprint);
});

test('the first blocks of an empty database are broadcast', async (t) => {
  const database = await createDatabase('source');
  const { source, replica, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await source.until(() => source.report?.phase === 'polling.caughtUp', 'a poll of an empty database');
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 60 });
  await replica.readSchema(database);
  await settle(102);
  const [first] = source.messages;
  assert.ok(first?.type === 'block');
  assert.equal(first.previous_hash, null);
});
