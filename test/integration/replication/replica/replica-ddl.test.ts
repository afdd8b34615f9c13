import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, rows } from '../../../../src/db/connection.ts';
import { planRollback, rollBack } from '../../../../src/replication/replica/apply/rollback.ts';
import { readReplicaState } from '../../../../src/replication/replica/database/state.ts';
import { apply, context, createReplica, FIRST, SECOND } from '../../../support/sync/small-replica.ts';

/** Changes of the schema, as a replica makes them (to a renamed column it is another one), after a group that changes, adds and removes rows of every table. */
const CHANGES: readonly string[] = [
  'ALTER TABLE tokens ADD COLUMN holders INT NOT NULL',
  'ALTER TABLE tokens ADD COLUMN name VARCHAR(9) NOT NULL FIRST',
  'ALTER TABLE tokens ADD COLUMN born DATETIME(6) NOT NULL, ADD COLUMN raw VARBINARY(9) NOT NULL',
  "ALTER TABLE tokens ADD COLUMN kind ENUM('a','b') NOT NULL, ADD COLUMN doc JSON NOT NULL",
  'ALTER TABLE tokens ADD COLUMN twice DECIMAL(40,8) AS (supply * 2) STORED',
  'ALTER TABLE tokens DROP COLUMN supply',
  'ALTER TABLE tokens DROP COLUMN tick',
  'ALTER TABLE tokens DROP COLUMN id',
  'ALTER TABLE tokens DROP COLUMN supply, ADD COLUMN total DECIMAL(30,8) NOT NULL',
  'ALTER TABLE tokens DROP COLUMN tick, ADD COLUMN ticker VARCHAR(20) NOT NULL',
  'ALTER TABLE tokens MODIFY supply DECIMAL(12,2) NOT NULL',
  'ALTER TABLE tokens MODIFY supply DECIMAL(60,20) NULL',
  'ALTER TABLE tokens MODIFY supply INT NOT NULL',
  'ALTER TABLE tokens MODIFY supply DOUBLE NOT NULL',
  'ALTER TABLE tokens MODIFY supply VARCHAR(60) NOT NULL',
  'ALTER TABLE tokens MODIFY supply VARBINARY(60) NOT NULL',
  'ALTER TABLE tokens MODIFY tick VARBINARY(20) NOT NULL',
  'ALTER TABLE tokens MODIFY tick VARCHAR(20) CHARACTER SET latin1 NOT NULL',
  'ALTER TABLE tokens MODIFY tick VARCHAR(20) CHARACTER SET utf16 COLLATE utf16_bin NOT NULL',
  'ALTER TABLE tokens MODIFY tick VARCHAR(3) NOT NULL',
  "ALTER TABLE tokens MODIFY tick ENUM('AAA','BBB') NOT NULL",
  "ALTER TABLE tokens MODIFY tick SET('AAA','BBB') NOT NULL",
  'ALTER TABLE tokens MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT',
  'ALTER TABLE tokens MODIFY id VARCHAR(20) NOT NULL',
  'ALTER TABLE tokens DROP KEY tick',
  'ALTER TABLE tokens MODIFY id INT NOT NULL, DROP PRIMARY KEY',
  'ALTER TABLE tokens MODIFY id INT NOT NULL, DROP PRIMARY KEY, ADD PRIMARY KEY (tick)',
  'ALTER TABLE tokens ADD UNIQUE KEY (supply)',
  'ALTER TABLE sends MODIFY memo VARCHAR(20) NOT NULL',
  'ALTER TABLE sends MODIFY memo VARBINARY(20) NULL',
  'ALTER TABLE sends MODIFY memo INT NULL',
  'ALTER TABLE sends MODIFY memo VARCHAR(2) NULL',
  'ALTER TABLE sends ADD COLUMN id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY',
  'ALTER TABLE sends ADD UNIQUE KEY (memo)',
  'ALTER TABLE sends ADD UNIQUE KEY (tx_index)',
  'ALTER TABLE sends DROP COLUMN memo',
  'ALTER TABLE notes MODIFY text VARCHAR(2) NOT NULL',
  'ALTER TABLE notes DROP COLUMN text, ADD COLUMN words VARCHAR(20) NOT NULL',
  'ALTER TABLE notes DROP COLUMN id',
  'ALTER TABLE index_names MODIFY name VARCHAR(99) CHARACTER SET latin1 NOT NULL',
  'ALTER TABLE index_names MODIFY name VARBINARY(99) NOT NULL',
  'ALTER TABLE index_names DROP COLUMN name, ADD COLUMN hash VARCHAR(20) NOT NULL',
  'ALTER TABLE index_names DROP KEY name',
  'ALTER TABLE settings MODIFY text VARCHAR(20) NOT NULL',
  'ALTER TABLE settings MODIFY text BLOB NULL',
  'ALTER TABLE settings ADD UNIQUE KEY (text)',
  'ALTER TABLE settings ADD COLUMN id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY',
  'RENAME TABLE tokens TO coins',
  'RENAME TABLE notes TO remarks',
  'DROP TABLE tokens',
  'DROP TABLE sends'
];

/** Every row of every table that holds data, whatever its columns are; of ids that the change itself deals, nothing. */
async function contentOf(writer: Connection, change: string): Promise<Record<string, string[]>> {
  const tables = await rows<{ name: string }>(
    writer,
    "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'sync\\_%' ORDER BY 1"
  );
  const found: Record<string, string[]> = {};
  for (const { name } of tables)
    found[name] = (await rows(writer, `SELECT * FROM \`${name}\``))
      .map((row) => (change.includes('id BIGINT NOT NULL AUTO_INCREMENT PRIMARY') ? { ...row, id: 0 } : row))
      .map((row) => JSON.stringify(row))
      .sort();
  return found;
}

/** Rows that do not fit are made to fit. */
async function alter(writer: Connection, change: string): Promise<void> {
  await writer.query(`SET STATEMENT sql_mode = '' FOR ${change.replace('ALTER TABLE', 'ALTER IGNORE TABLE')}`);
}

/**
 * Tables without a key in which the change leaves too little of a row to find it: the comparison that follows removes the surplus.
 */
const CUT: readonly string[] = [
  'ALTER TABLE sends MODIFY memo INT NULL',
  'ALTER TABLE sends MODIFY memo VARCHAR(2) NULL',
  'ALTER TABLE sends ADD UNIQUE KEY (tx_index)',
  'ALTER TABLE settings MODIFY text VARCHAR(20) NOT NULL'
];

const renamed = (change: string) => /RENAME TABLE (\w+)/.exec(change)?.[1];

for (const change of CHANGES)
  test(`a reorg below ${change}: the rows are those that the change makes of the rows before the group`, async () => {
    const [rolled, oracle] = await Promise.all([createReplica(), createReplica()]);
    await apply(rolled.writer, [FIRST]);
    await apply(rolled.writer, SECOND);
    await alter(rolled.writer, change);
    const plan = (await planRollback(rolled.writer, 3, 1))!;
    await rollBack(rolled.writer, await context(rolled.writer), await readReplicaState(rolled.writer), plan);
    const state = await readReplicaState(rolled.writer);
    assert.deepEqual([state.height, state.complete, state.phase], [1, false, 'reconciling']);

    await apply(oracle.writer, [FIRST]);
    await alter(oracle.writer, change);
    const [found, expected] = [await contentOf(rolled.writer, change), await contentOf(oracle.writer, change)];
    // The table bears another name, under which nothing of it is kept: the comparison that follows brings it.
    const from = renamed(change);
    if (from !== undefined) for (const each of [found, expected]) delete each[from === 'tokens' ? 'coins' : 'remarks'];
    if (CUT.includes(change)) for (const each of [found, expected]) delete each[change.split(' ')[2]!];
    assert.deepEqual(found, expected);
    await rolled.writer.end();
    await oracle.writer.end();
  });
