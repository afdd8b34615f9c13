import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../../src/db/connection.ts';
import { planSchema } from '../../../../src/replication/ddl/schema-writer.ts';
import { examineForeign } from '../../../../src/replication/replica/apply/adoption.ts';
import {
  isForeign,
  markAdopted,
  openReplicaState,
  readReplicaState
} from '../../../../src/replication/replica/database/state.ts';
import { readTopology } from '../../../../src/replication/tables/topology.ts';
import type { SchemaRecord } from '../../../../src/wire/data/schema.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';

test('REPLICA_FOREIGN: a database is examined by its tables, keys and heights, each refusal by name; nothing is written', async () => {
  const at = await createDatabase('foreign');
  await createIndexer(at, { seed: 'foreign', blocks: 20, rows: 200 });
  const connection = await connect(at);
  const { tables } = await readTopology(connection);
  const record = { chain: 'litecoin', network: 'regtest', dbType: 'indexer', tables: {}, typed: [...tables] };
  const plan = planSchema(record as SchemaRecord, 'indexer', []);
  assert.deepEqual(await examineForeign(connection, plan), { lowest: 100, tip: 119 });
  const cases = [
    [
      'ALTER TABLE sends ADD COLUMN mine INT NULL',
      'ALTER TABLE sends DROP COLUMN mine',
      /table sends has a column mine/
    ],
    ['ALTER TABLE sends ENGINE=MyISAM', 'ALTER TABLE sends ENGINE=InnoDB', /table sends is MyISAM/],
    ['RENAME TABLE sends TO spends', 'RENAME TABLE spends TO sends', /table sends of the source is missing/],
    [
      'ALTER TABLE sends MODIFY status_id INT UNSIGNED NULL',
      'ALTER TABLE sends MODIFY status_id BIGINT UNSIGNED NULL',
      /column status_id/
    ],
    [
      'UPDATE blocks SET block_index = 9000 WHERE block_index = 110',
      'UPDATE blocks SET block_index = 110 WHERE block_index = 9000',
      /20 blocks at 20 of the heights from 100 to 9000/
    ],
    [
      'UPDATE blocks SET block_index = 110 WHERE block_index = 111',
      'UPDATE blocks SET block_index = 111 WHERE block_index = 110 ORDER BY id DESC LIMIT 1',
      /20 blocks at 19 of the heights/
    ],
    ['CREATE TABLE sync_state (height INT)', 'DROP TABLE sync_state', /a table sync_state of another program/],
    [
      'ALTER TABLE sync_meta DROP KEY block_index, ADD KEY block_index (block_index)',
      'ALTER TABLE sync_meta DROP KEY block_index, ADD UNIQUE KEY block_index (block_index)',
      /sync_meta has no unique key over block_index/
    ],
    [
      "CREATE TABLE sync_halt (id INT, reason VARCHAR(99)) AS SELECT 1 AS id, 'mismatch' AS reason",
      'DROP TABLE sync_halt',
      /halted: mismatch/
    ]
  ] as const;
  const before = (await readTopology(connection)).tables;
  for (const [spoil, mend, reason] of cases) {
    await connection.query(spoil);
    await assert.rejects(
      examineForeign(connection, plan),
      (fault: Error & { code?: string }) => fault.code === 'REPLICA_FOREIGN' && reason.test(fault.message),
      spoil
    );
    await connection.query(mend);
  }
  assert.deepEqual(await examineForeign(connection, plan), { lowest: 100, tip: 119 });
  assert.deepEqual((await readTopology(connection)).tables, before);
  await connection.query('DELETE FROM blocks');
  await assert.rejects(examineForeign(connection, plan), /it has no blocks/);
  await connection.end();
});

test('the marker of an adopted database appears complete: what a crash leaves before it is still foreign', async () => {
  const connection = await connect(await createDatabase('marked'));
  assert.equal(await isForeign(connection, 'decoder'), false);
  await connection.query('CREATE TABLE blocks (block_index INT PRIMARY KEY)');
  await connection.query('CREATE TABLE sync_state_new (id INT)');
  assert.equal(await isForeign(connection, 'decoder'), true);
  const hashes = { block_hash: 'h' };
  await markAdopted(connection, { height: 7, blockTime: 1, hashes, schemaFingerprint: 'f', source: 'http://s' });
  assert.equal(await isForeign(connection, 'decoder'), false);
  const { phase, height, complete, hashes: kept } = await readReplicaState(connection);
  assert.deepEqual({ phase, height, complete, kept }, { phase: 'adopting', height: 7, complete: false, kept: hashes });
  assert.equal((await openReplicaState(connection, 'decoder')).phase, 'adopting');
  await connection.end();
});
