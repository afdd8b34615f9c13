import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { hasCode } from '../../../../src/errors.ts';
import type { SourceAsks } from '../../../../src/replication/protocol.ts';
import type { Dispensers, LookupPage } from '../../../../src/wire/data/pages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { createDecoder } from '../../../support/sync/generated-decoder.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

const parse = <T>(body: Uint8Array): T => JSON.parse(new TextDecoder().decode(body)) as T;

/** A page of megabytes may take seconds on a machine with much else to do. */
const PATIENT = { deadlineMs: 60_000 };

test('a lookup table page by page is the table, an id of 0 included; other tables are refused', async (t) => {
  const database = await createDatabase('pages');
  await createDecoder(database, { seed: 'a', blocks: 5, rows: 300 });
  await sql(database, 'CREATE TABLE index_odd (id INT AUTO_INCREMENT PRIMARY KEY, raw VARBINARY(4))');
  await sql(database, "INSERT INTO index_odd VALUES (0, x'00ff'), (7, NULL)");
  const source = SourceThread.start(t, database, 'decoder');
  const all: unknown[] = [];
  let afterId: number | null = null;
  for (let more = true; more; ) {
    const page: SourceAsks['lookups.page']['reply'] = await source.handle.ask('lookups.page', {
      table: 'index_addresses',
      afterId,
      limit: 50,
      coding: null
    });
    const body: LookupPage = parse(page.body);
    assert.deepEqual([body.max_id, body.has_more], [page.maxId, page.hasMore]);
    assert.deepEqual(Object.keys(body), ['schema_version', 'table', 'max_id', 'has_more', 'rows']);
    assert.equal(body.schema_version, 3);
    all.push(...body.rows);
    [afterId, more] = [Number(page.maxId), page.hasMore];
  }
  assert.ok(all.length > 50);
  assert.deepEqual(all, await sql(database, 'SELECT * FROM index_addresses ORDER BY id'));
  const odd: LookupPage = parse(
    (await source.handle.ask('lookups.page', { table: 'index_odd', afterId: null, limit: 2, coding: null })).body
  );
  assert.deepEqual(odd.rows, [
    { id: 0, raw: { __xbin__: 'AP8=' } },
    { id: 7, raw: null }
  ]);
  assert.equal(odd.has_more, false);
  const end: LookupPage = parse(
    (await source.handle.ask('lookups.page', { table: 'index_odd', afterId: 7, limit: 2, coding: null })).body
  );
  assert.deepEqual([end.rows, end.max_id, end.has_more], [[], 7, false]);
  for (const table of ['transactions', 'dispensers', 'mempool_transactions', 'nowhere'])
    await assert.rejects(source.handle.ask('lookups.page', { table, afterId: null, limit: 1, coding: null }), (error) =>
      hasCode(error, 'REQUEST_INVALID')
    );
});

test('pages go on above the exact numbers of JavaScript', async (t) => {
  const database = await createDatabase('pages');
  await createDecoder(database, { seed: 'a', blocks: 2, rows: 20 });
  const ids = ['9007199254740993', '9007199254740995', '9007199254740996', '18446744073709551615'];
  await sql(
    database,
    'CREATE TABLE index_far (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, text VARCHAR(4))',
    `INSERT INTO index_far VALUES ${ids.map((id) => `(${id}, 'x')`).join(', ')}`
  );
  const source = SourceThread.start(t, database, 'decoder');
  const seen: unknown[] = [];
  let afterId: number | string | null = null;
  for (let more = true; more && seen.length <= ids.length; ) {
    const page: SourceAsks['lookups.page']['reply'] = await source.handle.ask('lookups.page', {
      table: 'index_far',
      afterId,
      limit: 1,
      coding: null
    });
    seen.push(page.maxId);
    [afterId, more] = [page.maxId, page.hasMore];
  }
  assert.deepEqual(seen, ids);
});

test('a page ends at its bytes, though more rows were asked for, and is the same in every coding', async (t) => {
  const database = await createDatabase('pages');
  await createDecoder(database, { seed: 'a', blocks: 5, rows: 300 });
  await sql(
    database,
    'CREATE TABLE index_texts (id INT AUTO_INCREMENT PRIMARY KEY, text LONGTEXT NOT NULL)',
    "INSERT INTO index_texts (text) SELECT REPEAT('x', 12 * 1024 * 1024) FROM seq_1_to_4",
    "INSERT INTO index_texts (text) SELECT 'short' FROM seq_1_to_3000"
  );
  const source = SourceThread.start(t, database, 'decoder');
  const ask = (afterId: number, coding: 'gzip' | 'zstd' | null) =>
    source.handle.ask('lookups.page', { table: 'index_texts', afterId, limit: 100_000, coding }, PATIENT);
  const first = await ask(0, null);
  assert.deepEqual([first.maxId, first.hasMore], [2, true]);
  const rest = await ask(2, null);
  const [highest] = await sql(database, 'SELECT MAX(id) AS id FROM index_texts');
  assert.deepEqual([rest.maxId, rest.hasMore], [highest?.['id'], false]);
  assert.equal(parse<LookupPage>(rest.body).rows.length, 3_002);
  assert.deepEqual(gunzipSync((await ask(2, 'gzip')).body), Buffer.from(rest.body));
  assert.deepEqual(zstdDecompressSync((await ask(2, 'zstd')).body), Buffer.from(rest.body));
});

test('dispensers are the whole table, with the height and the highest references', async (t) => {
  const database = await createDatabase('pages');
  await createDecoder(database, { seed: 'a', blocks: 5, rows: 100 });
  await sql(
    database,
    'DELETE FROM dispensers',
    'INSERT INTO dispensers VALUES (3, 8, NULL, 11, 2, NULL), (5, 9, 1, NULL, 2, 4)'
  );
  const source = SourceThread.start(t, database, 'decoder');
  const { body, height } = await source.handle.ask('dispensers.read', { coding: null });
  assert.equal(height, 104);
  const rows = await sql(database, 'SELECT * FROM dispensers');
  assert.equal(rows.length, 2);
  assert.deepEqual(parse<Dispensers>(body), { schema_version: 3, max_tx: 5, max_addr: 11, has_more: false, rows });
  await sql(database, 'DELETE FROM dispensers');
  const empty = parse<Dispensers>((await source.handle.ask('dispensers.read', { coding: null })).body);
  assert.deepEqual([empty.max_tx, empty.max_addr, empty.rows], [null, null, []]);
});

test('a checkpoint is the latest row of its block; RECORD_UNKNOWN without the row, and without the table', async (t) => {
  const database = await createDatabase('pages');
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 50 });
  const source = SourceThread.start(t, database, 'indexer');
  const ask = (height: number | null) => source.handle.ask('checkpoint.read', { height });
  const unknown = (error: unknown) => hasCode(error, 'RECORD_UNKNOWN');
  const add = (chain: string, network: string, height: number, seq: number, ledgerHash: string, signatures: string) =>
    sql(
      database,
      `INSERT INTO state_checkpoints (chain, network, block_index, checkpoint_seq, snapshot_block, block_hash, ledger_hash, actions_hash, contract_hash, state_root, validator_signatures)
       VALUES ('${chain}', '${network}', ${height}, ${seq}, 7, 'b', '${ledgerHash}', 'a', 'c', '0a0b', '${signatures}')`
    );
  await assert.rejects(ask(null), unknown);
  await add('LTC', 'regtest', 50, 1, 'old', '[]');
  await add('litecoin', 'regtest', 50, 2, 'new', '[{"pubkey":"01","sig":"02","at":3},{"pubkey":4}]');
  await add('LTC', 'regtest', 60, 3, 'top', '[]');
  // Heights of other chains are none of this one.
  await add('DOGE', 'regtest', 50, 9, 'of another chain', '[]');
  await add('LTC', 'mainnet', 900, 9, 'of another network', '[]');
  assert.equal((await ask(null)).block_index, 60);
  assert.deepEqual((await ask(60)).validator_signatures, []);
  const found = await ask(50);
  assert.deepEqual(
    { ...found, validator_signatures: found.validator_signatures.map(({ pubkey, sig }) => ({ pubkey, sig })) },
    {
      chain: 'litecoin',
      network: 'regtest',
      block_index: 50,
      block_hash: 'b',
      ledger_hash: 'new',
      actions_hash: 'a',
      contract_hash: 'c',
      checkpoint_seq: 2,
      snapshot_block: 7,
      state_root: '0a0b',
      state_root_version: null,
      block_merkle_root: null,
      block_merkle_version: null,
      validator_signatures: [{ pubkey: '01', sig: '02' }]
    }
  );
  await assert.rejects(ask(55), unknown);
  await sql(database, 'DROP TABLE state_checkpoints');
  await assert.rejects(ask(50), unknown);
});
