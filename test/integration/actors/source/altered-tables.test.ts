import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SettledMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase, startOwnServer } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

const FEW = 3_000;
/** More than a source knows row by row at its start. */
const MORE = 25_000;

const altered = (table: string) => [
  `ALTER TABLE ${table} DROP COLUMN n`,
  `ALTER TABLE ${table} ADD COLUMN n INT NULL AFTER id`
];

test('with a binary log, values that are lost while a definition is changed and changed back come with the block', async (t) => {
  const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  const database = await createDatabase('altered', server.root);
  await sql(
    database,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(20) NOT NULL)',
    'CREATE TABLE few (id INT PRIMARY KEY, n INT NULL)',
    'CREATE TABLE more (id INT PRIMARY KEY, n INT NULL)',
    "INSERT INTO blocks VALUES (1, 'h1')",
    `INSERT INTO few SELECT seq, seq FROM seq_1_to_${FEW}`,
    `INSERT INTO more SELECT seq, seq FROM seq_1_to_${MORE}`,
    'ANALYZE TABLE few, more'
  );
  const source = SourceThread.start(t, database, 'decoder', { binlog: 'required' });
  await source.reaches(1);
  await sql(database, ...altered('few'), "INSERT INTO blocks VALUES (2, 'h2')");
  await source.reaches(2);
  const message = source.messages.at(-1)!;
  assert.ok(message.type === 'block');
  const rows = message.data['few'] ?? [];
  assert.deepEqual([rows.length, rows.filter(({ n }) => n !== null).length], [FEW, 0]);
  // Nobody knows what was sent of most rows of the other table: it is not sent whole for that, and replicas compare.
  await sql(database, ...altered('more'), "INSERT INTO blocks VALUES (3, 'h3')");
  await source.reaches(3);
  const last = source.messages.at(-1)!;
  assert.ok(last.type === 'block');
  const isTold = () =>
    last.unsettled === 'unknown' ||
    source.after.some(({ type, block_index, ...sent }) => {
      return type === 'settled' && block_index === 3 && (sent as Partial<SettledMessage>).unknown === true;
    });
  await source.until(isTold, 'the word that it is not known');
});
