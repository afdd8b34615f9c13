import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../../src/db/connection.ts';
import {
  deleteRows,
  selectByIdentity,
  selectByKey
} from '../../../../src/replication/replica/database/row-statements.ts';
import { canonicalRow, findTable, readReplicaSchema } from '../../../../src/replication/replica/database/schema.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

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

test('rows with numbers next to each other are found and deleted by the ends of their run, and none beside them', async () => {
  const connection = await connect(await createDatabase('runs'), { finderKey: TEST_KEY });
  await connection.query('CREATE TABLE numbered (id BIGINT PRIMARY KEY, n INT NOT NULL)');
  await connection.query('INSERT INTO numbered SELECT seq, seq FROM seq_1_to_200');
  const far = ['-3', '9007199254740993', '9007199254740995', '9223372036854775807'];
  await connection.query(`INSERT INTO numbered VALUES ${far.map((id) => `(${id}, 0)`).join(',')}`);
  const table = findTable(await readReplicaSchema(connection, 'indexer', []), 'numbered')!;
  const ids = [...Array.from({ length: 60 }, (_, at) => String(20 + at)), '90', '92', '9007199254740993', '-3'];
  // In no order, one twice, and one that is not there.
  const asked = [...ids.toReversed(), '20', '300'].map((id): [string, string] => [id, '0']);
  const found = await selectByKey(connection, table, table.rowKey!, asked);
  assert.deepEqual(new Set(found.map(([id]) => id)), new Set(ids));
  assert.equal(found.length, ids.length);
  await deleteRows(connection, table, found);
  const left = await rows(connection, 'SELECT CAST(id AS CHAR) AS id FROM numbered');
  const expected = [...Array.from({ length: 200 }, (_, at) => String(at + 1)), ...far].filter(
    (id) => !ids.includes(id)
  );
  assert.deepEqual(new Set(left.map(({ id }) => id)), new Set(expected));
  await connection.end();
});
