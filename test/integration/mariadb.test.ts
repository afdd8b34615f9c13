import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../src/db/connection.ts';
import { createDatabase } from '../support/mariadb.ts';

test('a connection reads values without loss', async () => {
  const connection = await connect(await createDatabase('values'));
  const [row] = await rows(
    connection,
    "SELECT 18446744073709551615 AS big, 9007199254740991 AS safe, CAST('1.50' AS DECIMAL(10,2)) AS amount, TIMESTAMP '2026-01-02 03:04:05.123456' AS moment, X'00ff' AS bytes"
  );
  await connection.end();
  assert.deepEqual(
    { ...row },
    {
      big: '18446744073709551615',
      safe: 9007199254740991,
      amount: '1.50',
      moment: '2026-01-02 03:04:05.123456',
      bytes: Buffer.from([0, 255])
    }
  );
});

test('DATABASE_REFUSED: wrong credentials', async () => {
  const database = await createDatabase('refused');
  await assert.rejects(connect({ ...database, pass: 'wrong' }), { code: 'DATABASE_REFUSED' });
});
