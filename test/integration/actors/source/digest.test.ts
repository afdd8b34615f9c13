import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../../../src/errors.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import type {
  DatabaseDigest,
  DigestKey,
  DigestPart,
  DigestQuery,
  DigestRange,
  RangeRows,
  TableRanges
} from '../../../../src/wire/data/digest.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

/** Time for an answer on a busy machine. */
const PATIENCE_MS = 60_000;
/** A table's time of change has whole seconds. */
const SECOND_MS = 1_100;

async function open(t: TestContext): Promise<{ database: DatabaseCoordinates; source: SourceThread }> {
  const database = await createDatabase('source_digest');
  await createIndexer(database, { seed: 'd', blocks: 5, rows: 300 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(104);
  return { database, source };
}

async function ask<T>(source: SourceThread, query: Partial<DigestQuery> = {}): Promise<T> {
  const key = query.table && !query.key ? { key: await keyOf(source) } : {};
  const asked = { table: null, range: null, rows: false, ...key, ...query };
  const { body } = await source.handle.ask('digest.read', { query: asked }, { deadlineMs: PATIENCE_MS });
  return JSON.parse(body) as T;
}

async function keyOf(source: SourceThread, part: DigestPart = null): Promise<string> {
  const { body } = await source.handle.ask('digest.key', { part }, { deadlineMs: PATIENCE_MS });
  return (JSON.parse(body) as DigestKey).key;
}

const whole = ({ ranges }: TableRanges): DigestRange => ({ from: ranges[0]!.from, to: ranges.at(-1)!.to, block: null });

test('all tables, the ranges of one, its rows: each names its snapshot, and they agree', async (t) => {
  const { source } = await open(t);
  const all = await ask<DatabaseDigest>(source);
  assert.equal(all.block_height, 104);
  assert.equal(all.ledger_hash, (source.report!.hashes as { ledger_hash: string }).ledger_hash);
  assert.equal(all.fingerprint, source.report!.schemaFingerprint);
  const names = all.tables.map(({ table }) => table);
  for (const table of ['blocks', 'credits', 'tokens', 'balances', 'index_addresses', 'sync_meta']) {
    assert.ok(names.includes(table), table);
  }
  for (const table of ['merkle_epochs', 'sync_halt', 'icons']) assert.ok(!names.includes(table), table);
  for (const { table, rows, digest } of all.tables) {
    const ranges = await ask<TableRanges>(source, { table, key: all.key });
    assert.deepEqual([ranges.rows, ranges.digest, ranges.block_height], [rows, digest, 104]);
    if (rows === 0) continue;
    const content = await ask<RangeRows>(source, { table, key: all.key, range: whole(ranges), rows: true });
    assert.deepEqual([content.rows, content.digest, content.data.length], [rows, digest, rows], table);
  }
});

test('many who ask at once have one answer, and a new block another', async (t) => {
  const { database, source } = await open(t);
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask<DatabaseDigest>(source)));
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  await source.reaches(await appendBlocks(database, 1, 'd'));
  const next = await ask<DatabaseDigest>(source);
  assert.equal(next.block_height, 105);
  assert.notDeepEqual(next.tables, answers[0]!.tables);
});

test('rows that are changed by hand between two blocks have other sums at once; while nothing changes, all have one pass', async (t) => {
  const { database, source } = await open(t);
  const digestOf = ({ tables }: DatabaseDigest) => tables.find(({ table }) => table === 'tokens')?.digest;
  const before = await ask<DatabaseDigest>(source);
  assert.deepEqual(await ask<DatabaseDigest>(source), before);
  await sleep(SECOND_MS);
  await sql(database, 'UPDATE tokens SET supply = supply + 1');
  const after = await ask<DatabaseDigest>(source);
  assert.notEqual(digestOf(after), digestOf(before));
  assert.deepEqual([after.block_height, after.ledger_hash], [before.block_height, before.ledger_hash]);
  assert.deepEqual(await ask<DatabaseDigest>(source, { key: before.key }), before, 'its asker may still compare');
  // A table that nobody compares says nothing of the others.
  await sleep(SECOND_MS);
  await sql(database, "ALTER TABLE icons COMMENT = 'of one node'");
  assert.deepEqual(await ask<DatabaseDigest>(source), after);
});

test('after a reorg the same hashes have other digests; a table whose digest is an old one is not settled', async (t) => {
  const { database, source } = await open(t);
  const digestsOf = (tables: DatabaseDigest['tables'], ...names: string[]) =>
    tables.filter(({ table }) => names.includes(table)).map(({ digest }) => digest);
  const height = await addEmptyBlock(database);
  await source.reaches(height);
  const before = await ask<DatabaseDigest>(source);
  await sql(database, `DELETE FROM blocks WHERE block_index = ${height}`);
  await source.reaches(height - 1);
  await sql(database, 'UPDATE tokens SET supply = supply + 1', 'UPDATE blocks SET block_time = block_time + 9');
  await addEmptyBlock(database);
  await source.reaches(height);
  const after = await ask<DatabaseDigest>(source);
  assert.deepEqual({ ...after, key: '', tables: [] }, { ...before, key: '', tables: [] });
  for (const table of ['blocks', 'tokens', 'sync_meta'])
    assert.notDeepEqual(digestsOf(after.tables, table), digestsOf(before.tables, table), table);
  // A log that is wrong for whatever reason is no replica's to follow, and is put right.
  await sql(database, `UPDATE sync_meta SET block_time = 1 WHERE block_index = ${height - 2}`);
  const log = { table: 'sync_meta', settled: true };
  assert.equal((await ask<TableRanges>(source, log)).settled, false);
  // It may be put right in the second of the change; the sums of before are then found to be old by the next question.
  await ask<TableRanges>(source, log);
  const { settled, digest } = await ask<TableRanges>(source, log);
  assert.ok(settled);
  assert.deepEqual(digestsOf((await ask<DatabaseDigest>(source)).tables, 'sync_meta'), [digest]);
});

test('a table that changed since the last broadcast says that it is not settled, until the next block', async (t) => {
  const { database, source } = await open(t);
  const settled = async () => {
    const names = ['tokens', 'credits', 'index_addresses', 'sync_meta'];
    const replies = await Promise.all(names.map((table) => ask<TableRanges>(source, { table, settled: true })));
    return replies.filter((ranges) => ranges.settled).map(({ table }) => table);
  };
  assert.deepEqual(await settled(), ['tokens', 'credits', 'index_addresses', 'sync_meta']);
  await sql(
    database,
    'UPDATE tokens SET supply = supply + 1',
    "UPDATE credits SET amount = CONCAT(amount, '1') ORDER BY action_index DESC LIMIT 1",
    "INSERT INTO index_addresses (address) VALUES ('of between')"
  );
  assert.deepEqual(await settled(), ['sync_meta']);
  await sql(database, 'UPDATE blocks SET block_time = block_time + 1 WHERE block_index = 103');
  for (const why of ['the log tells of the rows of blocks', 'to ask does not make it tell of what was not broadcast'])
    assert.deepEqual(await settled(), [], why);
  await source.reaches(await addEmptyBlock(database));
  assert.deepEqual(await settled(), ['tokens', 'credits', 'index_addresses', 'sync_meta']);
});

test('the log is left out while it tells of another branch than the blocks', async (t) => {
  const { database, source } = await open(t);
  await sql(database, "UPDATE sync_meta SET ledger_hash = 'of the other branch' WHERE block_index = 104");
  const { tables } = await ask<DatabaseDigest>(source);
  assert.ok(!tables.some(({ table }) => table === 'sync_meta'));
});

test('a question without an answer is refused by name, and the next one is answered', async (t) => {
  const { source } = await open(t);
  const range = { from: 0, to: 10, block: null };
  const refused: Partial<DigestQuery>[] = [
    { table: 'nowhere' },
    { table: 'icons' },
    { table: 'credits', range: { ...range, from: 11 } },
    { table: 'credits', range: { ...range, to: 106 } },
    { table: 'tokens', range: { ...range, to: 2 ** 32 } },
    { table: 'credits', range: { ...range, block: 106 } },
    { table: 'tokens', range: { ...range, block: 3 } }
  ];
  for (const query of refused) {
    await assert.rejects(ask(source, query), (error) => hasCode(error, 'REQUEST_INVALID'), JSON.stringify(query));
  }
  assert.equal((await ask<DatabaseDigest>(source)).block_height, 104);
});

test('BLOCKS_EMPTY before the first block', async (t) => {
  const source = new SourceThread(await createDatabase('source_digest'), 'indexer');
  t.after(() => source.kill());
  await source.until(() => source.report?.phase === 'polling.caughtUp', 'a poll');
  await assert.rejects(ask(source), (error) => hasCode(error, 'BLOCKS_EMPTY'));
});

test('a pass of one table, and of all but some, in the same words; of the latter each tip has one, and others get all', async (t) => {
  const { database, source } = await open(t);
  const named = async (part: DigestPart) => {
    const { tables } = await ask<DatabaseDigest>(source, { key: await keyOf(source, part) });
    return tables.map(({ table }) => table).sort();
  };
  assert.deepEqual(await named({ only: 'tokens' }), ['tokens']);
  const rest = await named({ without: ['credits', 'tokens'] });
  assert.ok(rest.includes('blocks') && !rest.includes('tokens') && !rest.includes('credits'), rest.join());
  assert.deepEqual(await named({ without: ['blocks'] }), [...rest, 'credits', 'tokens'].sort());
  assert.deepEqual(await named({ only: 'tokens' }), [...rest, 'credits', 'tokens'].sort(), 'what is made is told');
  const isUnknown = (error: unknown) => hasCode(error, 'REQUEST_INVALID');
  await assert.rejects(keyOf(source, { only: 'no_such_table' }), isUnknown);
  // Many parts do not push out the key of somebody who compares.
  await source.reaches(await appendBlocks(database, 1, 'p'));
  const first = await keyOf(source, { only: 'tokens' });
  for (const only of ['blocks', 'credits', 'debits', 'sends', 'balances', 'actions']) await keyOf(source, { only });
  assert.equal((await ask<DatabaseDigest>(source, { key: first })).tables.length, 1);
});

test('a key is drawn for each tip and told at once; what is asked under it is of its tip, also when the source has gone on, or refused', async (t) => {
  const { database, source } = await open(t);
  const keys = await Promise.all(Array.from({ length: 8 }, () => keyOf(source)));
  assert.equal(new Set(keys).size, 1, 'one for all who ask at one tip');
  const [key] = keys as [string];
  const all = await ask<DatabaseDigest>(source, { key });
  assert.deepEqual([all.key, all.algorithm], [key, 'sha256-sum64/2']);
  await source.reaches(await appendBlocks(database, 1, 'd'));
  // Who was told the key of a tip gets the digests of it, also when the source has gone on.
  assert.deepEqual(await ask<DatabaseDigest>(source, { key }), all);
  const isGone = (error: unknown) => hasCode(error, 'DIGEST_KEY_UNKNOWN');
  const ranges = await ask<TableRanges>(source, { table: 'tokens', key });
  assert.equal(ranges.digest, all.tables.find(({ table }) => table === 'tokens')?.digest);
  const { from, to } = ranges.ranges[0]!;
  await sql(database, 'UPDATE tokens SET supply = supply + 1');
  const range = { from, to, block: null };
  const asOf = await ask<RangeRows>(source, { table: 'tokens', key, range, rows: true });
  assert.deepEqual([asOf.block_height, asOf.digest], [104, ranges.ranges[0]!.digest]);
  const next = await keyOf(source);
  assert.notEqual(next, key);
  assert.equal((await ask<TableRanges>(source, { table: 'tokens', key: next })).key, next);
  for (let more = 0; more < 3; more++) {
    await source.reaches(await appendBlocks(database, 1, 'd'));
    await keyOf(source);
  }
  await assert.rejects(ask(source, { key }), isGone);
  await assert.rejects(ask(source, { key: 'ab'.repeat(16) }), isGone);
});

test('passes that are made at the same time read one statement after the other', async (t) => {
  const { database, source } = await open(t);
  await sql(
    database,
    'CREATE TABLE wide (id INT PRIMARY KEY, text VARCHAR(200) NOT NULL)',
    'INSERT INTO wide SELECT seq, REPEAT(MD5(seq), 6) FROM seq_1_to_200000'
  );
  await source.reaches(await appendBlocks(database, 1, 'd'));
  const asked = [{ only: 'wide' } as const, null].map(async (part) =>
    ask<DatabaseDigest>(source, { key: await keyOf(source, part) })
  );
  const made = Promise.all(asked).then(() => true);
  const counts: number[] = [];
  while (!(await Promise.race([made, sleep(5, false)]))) {
    const [{ n } = { n: 0 }] = await sql(
      database,
      "SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE '% AS slot, COUNT(*)%' AND ID <> CONNECTION_ID()"
    );
    counts.push(Number(n));
  }
  assert.equal(Math.max(...counts), 1, counts.join());
});

test('a challenge has the key that was asked for; one at a time, four an hour', async (t) => {
  const { source } = await open(t);
  const challenge = async (key: string) => {
    const { body } = await source.handle.ask('digest.challenge', { key }, { deadlineMs: PATIENCE_MS });
    return JSON.parse(body) as DatabaseDigest;
  };
  const key = 'ab'.repeat(16);
  const first = challenge(key);
  const isRefused = (error: unknown) => hasCode(error, 'RATE_LIMITED');
  await assert.rejects(challenge(key), isRefused);
  const reply = await first;
  assert.equal(reply.key, key);
  assert.deepEqual(await challenge(key), reply, 'the same rows, the same sums');
  assert.notDeepEqual((await challenge('cd'.repeat(16))).tables, reply.tables);
  await challenge(key);
  await assert.rejects(challenge(key), isRefused);
});
