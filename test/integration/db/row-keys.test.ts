import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../src/db/core/connection.ts';
import { deleteRows, selectByIdentity } from '../../../src/db/replica/row-statements.ts';
import { canonicalRow, findTable, readReplicaSchema } from '../../../src/db/replica/schema.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { TEST_KEY } from '../../support/sync/source-thread.ts';

const TABLE =
  'CREATE TABLE named (place INT NOT NULL, name VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL, n INT NOT NULL, PRIMARY KEY (place, name))';
const ROWS = [
  { place: 1, name: 'é', n: 1 },
  { place: 2, name: 'Ø!', n: 2 },
  { place: 3, name: 'x', n: 3 }
];

test('a row is found by a key with letters beyond ASCII in a character set of its own, beside others', async () => {
  const connection = await connect(await createDatabase('keys'), { finderKey: TEST_KEY });
  await connection.query(TABLE);
  await connection.query('INSERT INTO named VALUES ?', [ROWS.map((row) => Object.values(row))]);
  const table = findTable(await readReplicaSchema(connection, 'indexer', []), 'named')!;
  const list = ROWS.map((row) => canonicalRow(table, row));
  assert.equal((await selectByIdentity(connection, table, list)).length, 3);
  await deleteRows(connection, table, list);
  assert.deepEqual(await rows(connection, 'SELECT * FROM named'), []);
  await connection.end();
});
