import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../../src/db/connection.ts';
import { hasCode } from '../../../../src/errors.ts';
import type { SchemaRecord } from '../../../../src/wire/data/schema.ts';
import type { SnapshotQuery } from '../../../../src/wire/data/snapshot.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, hadEnded, sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';
import { FULL } from '../../replication/snapshot/support.ts';

test('the schema of the replicated tables, as text and typed', async (t) => {
  const database = await createDatabase('asks');
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 60 });
  await sql(
    database,
    "CREATE TABLE said (id INT AUTO_INCREMENT PRIMARY KEY, x TEXT NOT NULL DEFAULT ' AUTO_INCREMENT=5')"
  );
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(102);
  const { body, fingerprint } = await source.handle.ask('schema.read', {});
  const schema = JSON.parse(body!) as SchemaRecord;
  assert.deepEqual([schema.chain, schema.network, schema.dbType], ['litecoin', 'regtest', 'indexer']);
  for (const table of ['sync_meta', 'merkle_epochs', 'sync_halt', 'mempool_transactions', 'icons']) {
    assert.equal(schema.tables[table], undefined, table);
  }
  assert.match(schema.tables['transactions']!, /^CREATE TABLE `transactions`/);
  assert.doesNotMatch(schema.tables['events']!, /AUTO_INCREMENT=/);
  assert.match(schema.tables['said']!, /DEFAULT ' AUTO_INCREMENT=5'/, 'only the table option goes');
  assert.deepEqual(Object.keys(schema.tables).sort(), schema.typed?.map(({ name }) => name).sort());
  const classOf = (table: string) => schema.typed?.find(({ name }) => name === table)?.class;
  assert.deepEqual(['index_addresses', 'credits', 'tokens', 'balances'].map(classOf), [
    'lookup',
    'scoped',
    'mutable',
    'derived'
  ]);
  assert.equal(schema.fingerprint, fingerprint);
});

test('the schema is told once to who knows its fingerprint, and anew as soon as it changes', async (t) => {
  const database = await createDatabase('asks');
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 60 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(102);
  const { body, fingerprint } = await source.handle.ask('schema.read', {});
  assert.deepEqual(await source.handle.ask('schema.read', { known: fingerprint }), { body: null, fingerprint });
  assert.equal((await source.handle.ask('schema.read', {})).body, body);
  await sql(database, 'ALTER TABLE tokens ADD said_of_late INT');
  const later = await source.handle.ask('schema.read', { known: fingerprint });
  assert.notEqual(later.fingerprint, fingerprint);
  assert.match((JSON.parse(later.body!) as SchemaRecord).tables['tokens']!, /said_of_late/);
});

test('connections that MariaDB ended while they rested fail no question about schema, proofs or roots', async (t) => {
  const database = await createDatabase('asks');
  await createIndexer(database, { seed: 'a', blocks: 12, rows: 60 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(111);
  const askAll = async () => [
    (await source.handle.ask('schema.read', {})).fingerprint,
    await source.handle.ask('transparency.proof', { blockIndex: 101 }),
    await source.handle.ask('transparency.latest', {})
  ];
  const before = await askAll();
  for (let round = 0; round < 2; round++) {
    await sleep(1_100); // longer than a connection counts as one in use
    const ended = await sql(
      database,
      `SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '${database.name}' AND ID <> CONNECTION_ID()`
    );
    assert.ok(ended.length > 1, `${ended.length} connections`);
    for (const { ID } of ended) await sql(database, `KILL CONNECTION ${Number(ID)}`).catch(hadEnded);
    assert.deepEqual(await askAll(), before);
  }
});

test('no block waits for what callers ask, however long that takes', async (t) => {
  const database = await createDatabase('asks');
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 60 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(102);
  const other = await connect(database);
  t.after(() => other.destroy());
  await other.query('LOCK TABLES merkle_epochs WRITE');
  let isAnswered = false;
  const answer = source.handle.ask('transparency.latest', {}, { deadlineMs: 30_000 }).then(() => {
    isAnswered = true;
  });
  await source.reaches(await addEmptyBlock(database));
  assert.equal(isAnswered, false);
  assert.deepEqual((await source.handle.ask('snapshot.describe', { query: FULL })).query, FULL);
  await other.query('UNLOCK TABLES');
  await answer;
});

test('equal questions at one tip are one build; another tip or query is another, and one after a reorg to the same hashes', async (t) => {
  const database = await createDatabase('asks');
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 60 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(102);
  const describe = async (query: SnapshotQuery) => source.handle.ask('snapshot.describe', { query });
  const first = await describe(FULL);
  assert.equal((await describe(FULL)).key, first.key);
  assert.notEqual((await describe({ ...FULL, since: 1 })).key, first.key);
  await source.reaches(await appendBlocks(database, 1, 'a'));
  assert.notEqual((await describe(FULL)).key, first.key);
  await sql(database, 'DELETE FROM blocks ORDER BY block_index DESC LIMIT 1');
  await source.reaches(102);
  const again = await describe(FULL);
  assert.notEqual(again.key, first.key);
  const { resume } = source;
  await source.kill();
  const successor = SourceThread.start(t, database, 'indexer', { resume });
  await successor.until(() => successor.report?.phase === 'polling.caughtUp', 'a poll');
  assert.equal((await successor.handle.ask('snapshot.describe', { query: FULL })).key, again.key);
});

test('BLOCKS_EMPTY and BLOCKS_CAUGHT_UP', async (t) => {
  const database = await createDatabase('asks');
  const source = SourceThread.start(t, database, 'indexer');
  await source.until(() => source.report?.phase === 'polling.caughtUp', 'a poll');
  const describe = async (query: SnapshotQuery) => source.handle.ask('snapshot.describe', { query });
  await assert.rejects(
    describe(FULL),
    (error) => hasCode(error, 'BLOCKS_EMPTY') && error.detail['reason'] === 'No blocks in database'
  );
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 60 });
  await assert.rejects(
    describe({ ...FULL, since: 103, inclusive: true }),
    (error) => hasCode(error, 'BLOCKS_CAUGHT_UP') && error.detail['reason'] === 'No data available after block 103'
  );
  await describe({ ...FULL, since: 102, inclusive: true });
  await describe({ ...FULL, since: 103 });
});

test('a graceful stop ends the thread without an error', async (t) => {
  const database = await createDatabase('asks');
  await createIndexer(database, { seed: 'a', blocks: 3, rows: 60 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(102);
  await source.handle.ask('stop', { graceMs: 2_000 });
  assert.ok(source.states.includes('stopping'));
});
