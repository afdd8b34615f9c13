import assert from 'node:assert/strict';
import { createHash, randomFillSync } from 'node:crypto';
import { test } from 'node:test';
import { createGzip } from 'node:zlib';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import { deleteReceived, selectByIdentity } from '../../src/replication/replica/database/row-statements.ts';
import { canonicalRow, readReplicaSchema } from '../../src/replication/replica/database/schema.ts';
import { allowsBulkLoad, loadBatch } from '../../src/replication/replica/load/bulk-load.ts';
import { readSnapshot } from '../../src/replication/snapshot/snapshot-reader.ts';
import type { WireRow } from '../../src/wire/data/messages.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';

/** The default of MAX_ROW_BYTES. */
const MAX_ROW_BYTES = 64 * 2 ** 20;
const FRAME_BYTES = 200;

const COLUMNS = {
  medium_bytes: 'MEDIUMBLOB',
  long_bytes: 'LONGBLOB',
  medium_text: 'MEDIUMTEXT CHARACTER SET utf8mb4',
  long_text: 'LONGTEXT CHARACTER SET utf8mb4',
  latin: 'LONGTEXT CHARACTER SET latin1',
  document: 'JSON'
} as const;
type Column = keyof typeof COLUMNS;

const base64 = (sizeBytes: number) => randomFillSync(Buffer.alloc(sizeBytes)).toString('base64');
/** Text of so many bytes as JSON, with everything that has to be escaped somewhere. */
const text = (sizeBytes: number) => "it's ü, \\ and \t".repeat(Math.floor(sizeBytes / 20));

const LONGEST: Readonly<Record<Column, () => unknown>> = {
  medium_bytes: () => ({ __xbin__: base64(2 ** 24 - 1) }),
  long_bytes: () => ({ __xbin__: base64(((MAX_ROW_BYTES - FRAME_BYTES) / 4) * 3 - 3) }),
  medium_text: () => text(2 ** 24),
  long_text: () => text(MAX_ROW_BYTES),
  latin: () => text(MAX_ROW_BYTES),
  document: () => JSON.stringify({ long: text(MAX_ROW_BYTES / 2) })
};

/** The rows as they come out of a compressed body. */
async function transported(list: readonly WireRow[]): Promise<WireRow[]> {
  const body = createGzip({ level: 0 });
  body.end(JSON.stringify({ schema_version: 7, block_height: 1, tables: { long_rows: list } }));
  const found: WireRow[] = [];
  for await (const batch of readSnapshot(body, 'gzip', { maxRowBytes: MAX_ROW_BYTES, batchBytes: 2 ** 20 }))
    found.push(...batch.rows);
  return found;
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Returns the hash of a stored value by MariaDB's own function. */
async function storedHash(connection: Connection, column: Column): Promise<string> {
  const bytes = column === 'latin' ? `CONVERT(${column} USING utf8mb4)` : column;
  const [row] = await rows<{ hash: string }>(connection, `SELECT SHA2(${bytes}, 256) AS hash FROM long_rows`);
  return String(row?.hash);
}

test('a row as long as MAX_ROW_BYTES is transported and stored unchanged, by LOAD DATA and by INSERT, for every type', async () => {
  const { root } = await startOwnServer(['--max-allowed-packet=256M', '--innodb-log-file-size=512M']);
  const making = await connect(root);
  await making.query('CREATE DATABASE longest');
  await making.end();
  const connection = await connect({ ...root, name: 'longest' });
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${type} NULL`);
  await connection.query(
    `CREATE TABLE long_rows (id INT PRIMARY KEY, ${columns.join(', ')}) ENGINE=InnoDB CHARSET=utf8mb4`
  );
  const table = (await readReplicaSchema(connection, 'indexer', [])).byName.get('long_rows')!;
  assert.equal(await allowsBulkLoad(connection), true);
  const none = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, null]));
  for (const column of Object.keys(COLUMNS) as Column[]) {
    const value = LONGEST[column]();
    const given = { id: 1, ...none, [column]: value };
    assert.ok(JSON.stringify(given).length <= MAX_ROW_BYTES, column);
    const [row] = await transported([given]);
    const bytes =
      typeof value === 'string'
        ? Buffer.from(value)
        : Buffer.from((value as { readonly __xbin__: string }).__xbin__, 'base64');
    for (const bulk of column.startsWith('long') ? [true, false] : [true]) {
      await loadBatch(connection, table, [row!], bulk);
      assert.equal(await storedHash(connection, column), sha256(bytes), `${column} ${bulk ? 'LOAD DATA' : 'INSERT'}`);
      const canonical = canonicalRow(table, row!);
      assert.deepEqual(await selectByIdentity(connection, table, [canonical]), [canonical], column);
      await deleteReceived(connection, table, [canonical]);
    }
  }
  await connection.end();
});

test('a row without a key that holds long values is found and deleted by them, at the default max_allowed_packet', async () => {
  const connection = await connect(await createDatabase('long_loose'));
  await connection.query(
    'CREATE TABLE loose (t LONGTEXT CHARACTER SET latin1, b LONGBLOB) ENGINE=InnoDB CHARSET=utf8mb4'
  );
  const table = (await readReplicaSchema(connection, 'indexer', [])).byName.get('loose')!;
  const long = `ü${text(9 * 2 ** 20)}`;
  const bytes = { __xbin__: base64(9 * 2 ** 20) };
  const list = [
    { t: long, b: null },
    { t: null, b: bytes },
    { t: `${long}.`, b: null }
  ];
  for (const row of list) await loadBatch(connection, table, [row], true);
  await deleteReceived(
    connection,
    table,
    list.slice(0, 2).map((row) => canonicalRow(table, row))
  );
  const left = await rows<{ end: string }>(connection, 'SELECT RIGHT(t, 1) AS end FROM loose');
  assert.deepEqual(
    left.map(({ end }) => end),
    ['.']
  );
  await connection.end();
});
