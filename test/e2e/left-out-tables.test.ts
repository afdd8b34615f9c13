import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareDatabases } from '../../src/verify/compare.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

const BACKUP = 'accounts-2026-11-26';
const TABLES = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)',
  'CREATE TABLE accounts (id INT PRIMARY KEY, note VARCHAR(9) NULL)',
  'CREATE TABLE places (id INT PRIMARY KEY, at POINT NULL)',
  `CREATE TABLE \`${BACKUP}\` LIKE accounts`,
  "INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_20",
  "INSERT INTO accounts VALUES (1, 'one')",
  'INSERT INTO places VALUES (1, POINT(1, 2))'
];

test('tables that no replica can make are left out by name on both sides, and come once they can be made', async () => {
  const source = await createDatabase('left_out');
  await sql(source, ...TABLES);
  const pair = await startPair('decoder', source);
  const client = await pair.startClient();
  const leftOutOf = async (of: typeof client) => (await pair.status(of))['not_replicated'] as Record<string, string>;
  const verifiedAt = (height: number) =>
    eventually(`the replica is verified at ${height}`, async () => {
      const { phase, verified_height } = await pair.status(client);
      return phase === 'live' && verified_height === height;
    });
  const addBlock = (height: number) =>
    sql(source, `INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height}')`);
  await verifiedAt(20);
  for (const side of [pair.server, client]) {
    const { places, [BACKUP]: backup, ...others } = await leftOutOf(side);
    assert.match(places ?? '', /column at: type point is not allowed/);
    assert.match(backup ?? '', /other characters/);
    assert.deepEqual(others, {});
  }
  await sql(source, 'CREATE TABLE spots (id INT PRIMARY KEY, at GEOMETRY NULL)', "UPDATE accounts SET note = 'two'");
  await addBlock(21);
  await verifiedAt(21);
  assert.deepEqual(Object.keys(await leftOutOf(client)).sort(), [BACKUP, 'places', 'spots']);
  await sql(source, 'ALTER TABLE places DROP COLUMN at', 'DROP TABLE spots');
  await addBlock(22);
  await verifiedAt(22);
  assert.deepEqual(Object.keys(await leftOutOf(client)), [BACKUP]);
  await sql(source, `DROP TABLE \`${BACKUP}\``);
  await sql(
    source,
    'CREATE TABLE __proto__ (id INT PRIMARY KEY)',
    'CREATE TABLE getters (id INT PRIMARY KEY, __proto__ INT NULL)',
    'INSERT INTO __proto__ VALUES (1)',
    'INSERT INTO getters VALUES (1, 2)'
  );
  await addBlock(23);
  await verifiedAt(23);
  for (const side of [pair.server, client])
    assert.deepEqual(Object.keys(await leftOutOf(side)), ['__proto__', 'getters']);
  await sql(source, 'DROP TABLE __proto__', 'DROP TABLE getters');
  await addBlock(24);
  await verifiedAt(24);
  for (const side of [pair.server, client]) assert.deepEqual(await leftOutOf(side), {});
  const verdict = await compareDatabases(source, pair.replica);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.equal(client.child.exitCode, null);
});

test('values that only a lax sql_mode allows are stored as they are, by a snapshot and live', async () => {
  const source = await createDatabase('lax');
  const lax = (...statements: readonly string[]) => sql(source, "SET SESSION sql_mode = ''", ...statements);
  await lax(
    TABLES[0]!,
    "CREATE TABLE marks (block_index INT NOT NULL, kind ENUM('a','b') NOT NULL, day DATE NOT NULL, KEY (block_index))",
    "INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_20",
    "INSERT INTO marks VALUES (1, 'a', '2026-02-31'), (2, '', '0000-00-00'), (2, 'neither', 'no day')"
  );
  const pair = await startPair('decoder', source);
  const client = await pair.startClient();
  const first = await pair.settle(client, 20);
  assert.ok(first.equal, JSON.stringify(differences(first)));
  await lax(
    "INSERT INTO marks VALUES (21, 'neither', '2026-00-00'), (21, 'b', '2026-01-01'), (21, '', '2026-01-01')",
    "INSERT INTO blocks (block_index, block_hash) VALUES (21, 'h21')"
  );
  const second = await pair.settle(client, 21);
  assert.ok(second.equal, JSON.stringify(differences(second)));
  assert.equal((await pair.status(client))['repairs'], 0);
});
