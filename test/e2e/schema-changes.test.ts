import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';

const BLOCKS = 1_200;
const EPOCH = 100;

const TABLES = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)',
  'CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, text VARCHAR(20) NOT NULL)',
  'CREATE TABLE index_words (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(20) NOT NULL UNIQUE)',
  'CREATE TABLE tokens (id INT AUTO_INCREMENT PRIMARY KEY, tick VARCHAR(20) NOT NULL UNIQUE, supply INT NOT NULL, spare INT NULL)',
  'CREATE TABLE holders (holder INT NOT NULL PRIMARY KEY, token INT NOT NULL, amount INT NOT NULL)',
  'CREATE TABLE `system versioned` (a INT) WITH SYSTEM VERSIONING',
  'CREATE TABLE kept (a INT PRIMARY KEY, b VARCHAR(9) NULL) WITH SYSTEM VERSIONING',
  // Of one node only; what it refers to is no more than a surrogate.
  'CREATE TABLE icons (tid INT, FOREIGN KEY (tid) REFERENCES tokens (id))',
  `INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_${BLOCKS}`,
  `INSERT INTO notes (block_index, text) SELECT seq, CONCAT('note ', seq) FROM seq_1_to_${BLOCKS}`,
  "INSERT INTO index_words (word) SELECT CONCAT('word ', seq) FROM seq_1_to_300",
  "INSERT INTO tokens (id, tick, supply) VALUES (7, 'A', 1), (3, 'B', 2)",
  'INSERT INTO holders VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)',
  "INSERT INTO kept VALUES (1, 'one')"
];

/** A migration between two blocks: rows of all blocks get values that no block names. */
const MIGRATION = [
  'ALTER TABLE notes ADD COLUMN size INT NOT NULL DEFAULT 0, RENAME COLUMN text TO body',
  'UPDATE notes SET size = id * 3',
  "ALTER TABLE tokens DROP COLUMN spare, MODIFY tick VARCHAR(200) NOT NULL, ADD COLUMN name VARCHAR(9) NOT NULL DEFAULT '😀'",
  "INSERT INTO tokens (tick, supply) VALUES (REPEAT('long', 40), 3)",
  'ALTER TABLE holders DROP PRIMARY KEY, ADD PRIMARY KEY (token)',
  'INSERT INTO holders VALUES (1, 4, 4)',
  'RENAME TABLE kept TO still_kept',
  "UPDATE still_kept SET b = 'two'"
];

async function verifiedAt(pair: SyncPair, client: SyncProcess, height: number): Promise<Record<string, unknown>> {
  let status: Record<string, unknown> = {};
  await eventually(`the replica is verified at ${height}`, async () => {
    status = await pair.status(client);
    return status['phase'] === 'live' && status['verified_height'] === height;
  }).catch((fault: Error) => assert.fail(`${fault.message}: ${JSON.stringify(status)}\n${client.log().slice(-4000)}`));
  return status;
}

test('changes that no block names are sent with the next one: a migration, changes in old blocks and of lookups in place', async (t) => {
  const source = await createDatabase('schema_e2e');
  await sql(source, ...TABLES);
  const pair = await startPair('decoder', source, { MERKLE_EPOCH_SIZE: EPOCH, SYNC_LOCAL_TABLES: 'system versioned' });
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH });
  let height = BLOCKS;
  const addBlocks = (upTo: number) => {
    const first = height + 1;
    height = upTo;
    const values = `SELECT seq, CONCAT('h', seq) FROM seq_${first}_to_${upTo}`;
    return sql(source, `INSERT INTO blocks (block_index, block_hash) ${values}`);
  };
  const isEqual = async () => {
    const verdict = await pair.compare();
    const found = differences(verdict) as { table: string }[];
    return found.filter(({ table }) => table !== 'system versioned');
  };
  await verifiedAt(pair, client, height);
  assert.deepEqual(await isEqual(), []);

  await t.test('a migration', async () => {
    await sql(source, ...MIGRATION);
    await addBlocks(height + 1);
    const status = await verifiedAt(pair, client, height);
    assert.deepEqual(await isEqual(), []);
    assert.equal(status['repairs'], 0);
  });

  await t.test('old blocks and lookups in place', async () => {
    await sql(
      source,
      "UPDATE notes SET body = 'changed' WHERE block_index = 3",
      'DELETE FROM notes WHERE block_index = 5',
      "INSERT INTO notes (id, block_index, body) VALUES (5, 9, 'dealt again')",
      "UPDATE index_words SET word = 'changed' WHERE id = 299",
      'DELETE FROM index_words WHERE id = 298',
      'DELETE FROM index_words WHERE id = 300',
      "INSERT INTO index_words (id, word) VALUES (300, 'dealt again')"
    );
    await addBlocks(height + 1);
    await addBlocks(Math.ceil(height / EPOCH) * EPOCH);
    const status = await verifiedAt(pair, client, height);
    assert.deepEqual(await isEqual(), []);
    assert.equal(status['repairs'], 0, 'nothing was left for a repair');
  });
  assert.doesNotMatch(client.log(), /bootstrapping .* again|halted/);

  await t.test('a migration that the rows of the replica do not fit: it is loaded again', async () => {
    await sql(
      source,
      'UPDATE tokens SET tick = LEFT(CONCAT(id, tick), 9)',
      'ALTER TABLE tokens MODIFY tick VARCHAR(9) NOT NULL'
    );
    await addBlocks(height + 1);
    await verifiedAt(pair, client, height);
    assert.deepEqual(await isEqual(), []);
  });
  await client.end();
  await pair.server.end();
});
