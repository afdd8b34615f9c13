import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, quoteName } from '../../../../src/db/connection.ts';
import { type PrivateMariaDb, startMariaDb } from '../../../../src/devnet/processes/mariadb.ts';
import { readMark } from '../../../../src/replication/source/reading/database-mark.ts';
import type { ResumePoint } from '../../../../src/replication/source/reading/resume-point.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBacklog, appendBlocks, createIndexer, reorg } from '../../../support/sync/generated-indexer.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

const SIZE = { blocks: 40, rows: 800 };

/** Returns the end of a database's broadcasts, with a reorg and some blocks that were sent. */
async function broadcastsOf(t: TestContext, database: DatabaseCoordinates): Promise<ResumePoint> {
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(139);
  await source.reaches(await appendBlocks(database, 3, 'a'));
  await source.kill();
  assert.ok(source.resume?.of);
  return source.resume;
}

/** Returns the messages of a source that starts with this resume point. */
async function startAt(t: TestContext, database: DatabaseCoordinates, resume: ResumePoint | null, height: number) {
  const source = SourceThread.start(t, database, 'indexer', { resume, generation: 2 });
  await source.reaches(height);
  return source.messages.map((message) => [message.type, message.block_index]);
}

/** The same rows under the same ids in another database, as a restored backup has them. */
async function copyOf(database: DatabaseCoordinates): Promise<DatabaseCoordinates> {
  const copy = await createDatabase('copy');
  const connection = await connect(database);
  const { plans } = await readLayout(connection, 'indexer');
  connection.destroy();
  for (const { name, storedColumns } of plans) {
    const columns = storedColumns.map((column) => quoteName(column.name)).join(', ');
    await sql(
      copy,
      `CREATE TABLE ${name} LIKE ${database.name}.${name}`,
      `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM ${database.name}.${name}`
    );
  }
  return copy;
}

test('another database of the same name and place: it starts at its own tip, and tells no reorg', async (t) => {
  const database = await createDatabase('mark');
  await createIndexer(database, { seed: 'a', ...SIZE });
  const resume = await broadcastsOf(t, database);
  await sql(database, `DROP DATABASE ${database.name}`, `CREATE DATABASE ${database.name}`);
  await createIndexer(database, { seed: 'b', blocks: 50, rows: 800 });
  assert.deepEqual(await startAt(t, database, resume, 149), []);
  // Nor where the other one is shorter, or the point is of an earlier version.
  const { of: _, ...unmarked } = resume;
  assert.deepEqual(await startAt(t, database, unmarked, 149), []);
  await sql(database, `DROP DATABASE ${database.name}`, `CREATE DATABASE ${database.name}`);
  await createIndexer(database, { seed: 'c', blocks: 5, rows: 100 });
  assert.deepEqual(await startAt(t, database, resume, 104), []);
});

test('a restored backup goes on where the broadcasts ended, elsewhere too', async (t) => {
  const database = await createDatabase('mark');
  await createIndexer(database, { seed: 'a', ...SIZE });
  const resume = await broadcastsOf(t, database);
  const copy = await copyOf(database);
  const height = await appendBacklog(copy, 2, 'a');
  const marks = [
    ['block', 143],
    ['block', 144]
  ];
  assert.deepEqual(await startAt(t, copy, resume, height), marks);
  const { of: _, ...unmarked } = resume;
  assert.deepEqual(await startAt(t, copy, unmarked, height), marks);
});

test('an older backup, of which blocks that were broadcast are missing, tells the reorg', async (t) => {
  const database = await createDatabase('mark');
  await createIndexer(database, { seed: 'a', ...SIZE });
  const resume = await broadcastsOf(t, database);
  const copy = await copyOf(database);
  const height = await reorg(copy, 2, 3, 'restored');
  const [first] = await startAt(t, copy, resume, height);
  assert.equal(first?.[0], 'reorg');
});

test('the same chain under other ids is another database', async (t) => {
  const database = await createDatabase('mark');
  await createIndexer(database, { seed: 'a', ...SIZE });
  const resume = await broadcastsOf(t, database);
  const copy = await copyOf(database);
  const address = resume.of!.samples.find(({ table }) => table === 'index_addresses')!;
  await sql(
    copy,
    'SET SESSION foreign_key_checks = 0',
    `UPDATE index_addresses SET address = CONCAT(address, 'x') WHERE id = ${address.id}`
  );
  const height = await appendBacklog(copy, 2, 'a');
  assert.deepEqual(await startAt(t, copy, resume, height), []);
});

test('a migration that makes blocks anew loses nothing', async (t) => {
  const database = await createDatabase('mark');
  await createIndexer(database, { seed: 'a', ...SIZE });
  const resume = await broadcastsOf(t, database);
  await sql(database, 'DO SLEEP(1.1)', 'ALTER TABLE blocks ADD COLUMN note VARCHAR(9) NULL, FORCE');
  const height = await appendBacklog(database, 1, 'a');
  const found = await startAt(t, database, resume, height);
  assert.deepEqual(found.at(-1), ['block', height]);
  assert.ok(found.every(([type]) => type === 'block'));
});

test('the mark of a database outlives its server and tells two servers apart', async () => {
  const directories = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'platform-test-')));
  const running = new Set<PrivateMariaDb>();
  atEnd(async () => {
    await Promise.all([...running].map((server) => server.stop()));
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });
  const start = async (directory: string, port?: number) => {
    const server = await startMariaDb(directory, [], port);
    running.add(server);
    return server;
  };
  const markOf = async ({ root }: PrivateMariaDb) => {
    const to = { ...root, name: 'marked' };
    const connection = await connect(to);
    try {
      return await readMark(connection, to, await readLayout(connection, 'indexer'));
    } finally {
      connection.destroy();
    }
  };
  const [one, two] = [await start(directories[0]!), await start(directories[1]!)];
  for (const server of [one, two]) {
    await sql({ ...server.root, name: 'mysql' }, 'CREATE DATABASE marked');
    await createIndexer({ ...server.root, name: 'marked' }, { seed: 'a', blocks: 3, rows: 30 });
  }
  const [mark, other] = [await markOf(one), await markOf(two)];
  assert.notEqual(mark.server, other.server);
  await one.stop();
  running.delete(one);
  assert.deepEqual(await markOf(await start(directories[0]!, one.port)), mark);
});
