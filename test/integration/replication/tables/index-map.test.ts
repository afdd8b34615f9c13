import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { connect } from '../../../../src/db/connection.ts';
import { IndexMap } from '../../../../src/replication/tables/index-map.ts';
import { createDatabase } from '../../../support/mariadb.ts';

const connection = await connect(await createDatabase('index_map'));
const address = (id: number) => `é${id * 7}`;
const expected = (ids: readonly number[], of = address) => ({
  max_id: ids.at(-1),
  sha256: createHash('sha256')
    .update(ids.map((id) => `${id}\0${of(id)}\n`).join(''))
    .digest('hex')
});

test('the digest of an index of addresses: page by page, up to an id, after more rows, and after ids that were dealt anew', async () => {
  const map = new IndexMap();
  assert.equal(await map.read(connection, null), null);
  await connection.query(
    'CREATE TABLE index_addresses (id BIGINT UNSIGNED PRIMARY KEY, address VARCHAR(120) CHARACTER SET utf8mb4 NOT NULL)'
  );
  assert.equal(await map.read(connection, null), null);
  const insert = (from: number, to: number) =>
    connection.query(`INSERT INTO index_addresses SELECT seq, CONCAT('é', seq * 7) FROM seq_${from}_to_${to}`);
  const ids = Array.from({ length: 25_000 }, (_, index) => index);
  await insert(0, 19_999);
  assert.deepEqual(await map.read(connection, null), expected(ids.slice(0, 20_000)));
  await insert(20_000, 24_999);
  assert.deepEqual(await map.read(connection, null), expected(ids));
  assert.deepEqual(await map.read(connection, 12_345), expected(ids.slice(0, 12_346)));
  assert.deepEqual(await map.read(connection, 99), expected(ids.slice(0, 100)));
  assert.deepEqual(await map.read(connection, null), expected(ids));
  await connection.query("UPDATE index_addresses SET address = 'anew' WHERE id = 24990");
  assert.deepEqual(
    await map.read(connection, null),
    expected(ids, (id) => (id === 24_990 ? 'anew' : address(id)))
  );
  await connection.end();
});
