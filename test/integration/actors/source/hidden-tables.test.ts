import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase, startOwnServer } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

/** A database with a table of notes, and an account that may read what a test lets it. */
async function createNotes(t: TestContext) {
  const database = await createDatabase('hidden');
  await createIndexer(database, { seed: 'hidden', blocks: 5, rows: 100 });
  await sql(
    database,
    'CREATE TABLE notes (id INT PRIMARY KEY, note VARCHAR(20) NULL)',
    "INSERT INTO notes VALUES (1, 'kept')"
  );
  const user = `u_${randomBytes(5).toString('hex')}`;
  const account = `'${user}'@'%'`;
  const tables = await sql(
    database,
    `SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${database.name}' AND TABLE_NAME <> 'notes'`
  );
  await sql(
    database,
    `CREATE USER ${account} IDENTIFIED BY 'x'`,
    ...tables.map(({ name }) => `GRANT SELECT ON ${database.name}.${String(name)} TO ${account}`)
  );
  t.after(() => sql(database, `DROP USER ${account}`));
  const as: DatabaseCoordinates = { ...database, user, pass: 'x' };
  return { database, as, on: `ON ${database.name}.notes`, account };
}

const options = { readOnly: true, stateDomain: null };

for (const [right, what] of [
  ['SELECT', /table notes was served.*GRANT SELECT on it again/],
  ['SELECT (note)', /column note of table notes was served.*GRANT SELECT on it again/]
] as const)
  test(`TABLE_HIDDEN: without ${right} nothing is broadcast or told, also after a restart, until the right is back`, async (t) => {
    const { database, as, on, account } = await createNotes(t);
    await sql(
      database,
      right === 'SELECT' ? `GRANT SELECT ${on} TO ${account}` : `GRANT SELECT (id), ${right} ${on} TO ${account}`
    );
    const first = SourceThread.start(t, as, 'indexer', options);
    await first.reaches(104);
    // Of a table without a right on all of it, no definition is to be had.
    const askSchema = async (source: SourceThread) =>
      right === 'SELECT' ? (await source.handle.ask('schema.read', {})).fingerprint : null;
    const fingerprint = await askSchema(first);
    await sql(database, `REVOKE ${right} ${on} FROM ${account}`);
    const tip = await appendBlocks(database, 1, 'more');
    const lastErrorOf = (source: SourceThread) => String(source.report?.lastError);
    await first.until(() => what.test(lastErrorOf(first)), 'the reason, in the server that runs');
    assert.equal(first.resume!.height, tip - 1);
    if (right === 'SELECT') await assert.rejects(askSchema(first), { code: 'TABLE_HIDDEN' });
    await first.kill();
    const second = SourceThread.start(t, as, 'indexer', { ...options, resume: first.resume });
    await second.until(() => what.test(lastErrorOf(second)), 'the reason');
    assert.equal(second.report?.circuit, 'closed');
    await sql(database, `GRANT ${right} ${on} TO ${account}`);
    await second.reaches(tip);
    assert.equal(await askSchema(second), fingerprint);
  });

test('a column whose name changes in its case only is not one that came back hidden: blocks go on', async (t) => {
  const { database, as, on, account } = await createNotes(t);
  await sql(database, `GRANT SELECT ${on} TO ${account}`);
  const source = SourceThread.start(t, as, 'indexer', options);
  await source.reaches(104);
  await sql(database, 'ALTER TABLE notes CHANGE note NOTE VARCHAR(20) NULL');
  await source.reaches(await appendBlocks(database, 1, 'case'));
});

test('a table that is away for a moment is not gone; one that is dropped is, after a while', async (t) => {
  const { database, as, on, account } = await createNotes(t);
  await sql(database, `GRANT SELECT ${on} TO ${account}`);
  const source = SourceThread.start(t, as, 'indexer', options);
  await source.reaches(104);
  const { fingerprint } = await source.handle.ask('schema.read', {});
  await sql(database, 'RENAME TABLE notes TO notes_old');
  const next = await appendBlocks(database, 1, 'away');
  await source.until(() => /table notes is not there/.test(String(source.report?.lastError)), 'the reason');
  await sleep(500);
  await sql(database, 'RENAME TABLE notes_old TO notes');
  await source.reaches(next);
  assert.equal((await source.handle.ask('schema.read', {})).fingerprint, fingerprint);
  await sql(database, 'DROP TABLE notes');
  const last = await appendBlocks(database, 1, 'dropped');
  await source.reaches(last);
  assert.notEqual((await source.handle.ask('schema.read', {})).fingerprint, fingerprint);
  assert.ok(source.resume!.served !== undefined && !('notes' in source.resume!.served));
});

test('TABLE_HIDDEN: a damaged table is not one that was dropped: nothing is broadcast until it is repaired', async (t) => {
  const server = await startOwnServer([]);
  const database = await createDatabase('damaged', server.root);
  await createIndexer(database, { seed: 'damaged', blocks: 5, rows: 100 });
  await sql(database, 'CREATE TABLE notes (id INT PRIMARY KEY)', 'INSERT INTO notes VALUES (1)');
  const source = SourceThread.start(t, database, 'indexer', options);
  await source.reaches(104);
  const { fingerprint } = await source.handle.ask('schema.read', {});
  const [place] = await sql(database, 'SELECT @@datadir AS path');
  const definition = join(String(place!['path']), database.name, 'notes.frm');
  const sound = readFileSync(definition);
  writeFileSync(definition, sound.subarray(0, 10));
  await sql(database, 'FLUSH TABLES notes').catch(() => undefined);
  const tip = await appendBlocks(database, 1, 'damaged');
  await source.until(() => /table notes was served/.test(String(source.report?.lastError)), 'the reason');
  assert.equal(source.resume!.height, tip - 1);
  writeFileSync(definition, sound);
  await sql(database, 'FLUSH TABLES notes');
  await source.reaches(tip);
  assert.equal((await source.handle.ask('schema.read', {})).fingerprint, fingerprint);
});
