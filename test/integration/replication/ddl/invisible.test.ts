import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../../src/db/connection.ts';
import { parseCreateTable } from '../../../../src/replication/ddl/create-table-parser.ts';
import { printChanges, printTable } from '../../../../src/replication/tables/ddl.ts';
import { readTopology } from '../../../../src/replication/tables/topology.ts';
import { createDatabase } from '../../../support/mariadb.ts';

test('columns that are invisible at the source are so in the replica, whether it is made or changed', async () => {
  const [source, replica] = await Promise.all([
    connect(await createDatabase('seen')),
    connect(await createDatabase('made'))
  ]);
  await source.query(
    'CREATE TABLE notes (id INT PRIMARY KEY, a INT INVISIBLE, b VARCHAR(9) NOT NULL INVISIBLE DEFAULT "x", c INT AS (id + 1) STORED INVISIBLE, d INT, KEY a (a) IGNORED)'
  );
  const [table] = (await readTopology(source)).tables;
  assert.deepEqual(
    table!.columns.filter(({ invisible }) => invisible).map(({ name }) => name),
    ['a', 'b', 'c']
  );
  const { create, afterLoad } = printTable(table!);
  for (const statement of [create, ...afterLoad]) await replica.query(statement);
  const made = async () => (await readTopology(replica)).tables[0]!.columns;
  assert.deepEqual(await made(), table!.columns);

  const [text] = await rows(source, 'SHOW CREATE TABLE notes');
  const parsed = parseCreateTable('notes', String(text!['Create Table']));
  assert.deepEqual(
    parsed.columns.map(({ invisible }) => invisible ?? false),
    [false, true, true, true, false]
  );

  await source.query('ALTER TABLE notes MODIFY a INT, MODIFY d INT INVISIBLE');
  const [changed] = (await readTopology(source)).tables;
  for (const statement of printChanges(table!, changed!)) await replica.query(statement);
  assert.deepEqual(await made(), changed!.columns);
  await Promise.all([source.end(), replica.end()]);
});
