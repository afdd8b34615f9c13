import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../../src/log.ts';
import { CatalogCache } from '../../../src/sync/catalog.ts';
import type { DatabaseCoordinates, DatabaseId } from '../../../src/wire/data/database.ts';
import { freeze, thaw } from '../../support/freeze.ts';
import { startOwnServer } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const LTC: DatabaseId = { dbType: 'indexer', chain: 'litecoin', network: 'regtest' };
const DOGE: DatabaseId = { dbType: 'decoder', chain: 'dogecoin', network: 'regtest' };
const GONE: DatabaseId = { ...LTC, network: 'testnet' };

test('one query per server, kept for a while; a server that hangs holds nobody up', async () => {
  const server = await startOwnServer(['--general-log', '--log-output=TABLE']);
  const where = (name: string): DatabaseCoordinates => ({ ...server.root, name });
  const control = where('mysql');
  await sql(
    control,
    'CREATE DATABASE a',
    'CREATE DATABASE b',
    'CREATE TABLE a.one (id INT PRIMARY KEY, name VARCHAR(20), KEY (name))',
    'CREATE TABLE a.two (id INT PRIMARY KEY)',
    'CREATE VIEW a.three AS SELECT * FROM a.two',
    'CREATE TABLE b.one (id INT PRIMARY KEY)'
  );
  const queries = async () => {
    const [row] = await sql(
      control,
      "SELECT COUNT(*) AS n FROM general_log WHERE argument LIKE 'SELECT TABLE_SCHEMA AS name%'"
    );
    return Number(row?.['n']);
  };
  const heights = new Map([
    [LTC, 7],
    [DOGE, -1]
  ]);
  const places = new Map([
    [LTC, where('a')],
    [DOGE, where('b')]
  ]);
  const catalogOf = (cacheMs: number) =>
    new CatalogCache({
      cacheMs,
      log: silentLogger,
      list: () => [LTC, DOGE, GONE],
      whereIs: (id) => places.get(id),
      lastReport: (id) => ({ height: heights.get(id) ?? null })
    });

  const kept = catalogOf(60_000);
  const [first, same] = await Promise.all([kept.read(), kept.read()]);
  assert.equal(await kept.read(), first);
  assert.equal(same, first);
  assert.equal(await queries(), 1, 'two databases of one server, three requests');
  assert.ok(Math.abs(Date.parse(first.generated_at) - Date.now()) < 10_000);
  const page = 16_384;
  const none = { table_count: 0, data_bytes: 0, index_bytes: 0, total_bytes: 0, row_estimate: 0 };
  assert.deepEqual(first.databases, [
    {
      coin: 'litecoin',
      network: 'regtest',
      dbType: 'indexer',
      db_name: 'a',
      block_height: 7,
      table_count: 2,
      data_bytes: 2 * page,
      index_bytes: page,
      total_bytes: 3 * page,
      row_estimate: 0
    },
    {
      coin: 'dogecoin',
      network: 'regtest',
      dbType: 'decoder',
      db_name: 'b',
      block_height: null,
      table_count: 1,
      data_bytes: page,
      index_bytes: 0,
      total_bytes: page,
      row_estimate: 0
    },
    { coin: 'litecoin', network: 'testnet', dbType: 'indexer', db_name: null, block_height: null, ...none }
  ]);

  const brief = catalogOf(1);
  const fresh = await brief.read();
  await freeze(server.pid);
  try {
    heights.set(LTC, 8);
    const began = performance.now();
    const stuck = await brief.read();
    assert.ok(performance.now() - began < 3_000, 'it is answered while MariaDB hangs');
    assert.notEqual(stuck, fresh);
    assert.equal(stuck.databases[0]?.block_height, 8, 'heights are what the actors last reported');
    assert.equal(stuck.databases[0]?.table_count, 2, 'figures are those known last');
    await brief.read();
  } finally {
    thaw(server.pid);
  }
  await brief.read();
  assert.ok((await queries()) <= 4, 'while one look hangs no other joins it');
});
