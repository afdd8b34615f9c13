import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';
import { PAIR_KEY, startTestHub } from '../../../support/sync/sync-pair.ts';
import { startSyncProcess, temporaryDirectory } from '../../../support/sync/sync-process.ts';

const source = await createDatabase('schema_quorum');
await createIndexer(source, { seed: 'schema quorum', blocks: 5, rows: 100 });
for (const name of ['notes', 'papers']) {
  await sql(source, `CREATE TABLE ${name} (id INT PRIMARY KEY, note VARCHAR(20) NULL)`);
  await sql(source, `INSERT INTO ${name} VALUES (1, 'kept')`);
}
const { url: honest } = await startSyncProcess({
  HUB_API_HOST: '127.0.0.1',
  HUB_PORT: await startTestHub([['indexer', source]]),
  SYNC_API_KEY: PAIR_KEY,
  SYNC_MODE: 'server',
  SYNC_API_PORT: await freePort(),
  SYNC_STATE_DIR: temporaryDirectory('server-state'),
  BLOCK_POLL_INTERVAL: 30
});
const second = (await startLyingSource(honest)).url;

/** Says of the schema what a test tells it to, and with each block that the schema is another. */
async function startLiar(lie: (tables: Record<string, unknown>[]) => Record<string, unknown>[]) {
  let isLying = false;
  const { url } = await startLyingSource(
    honest,
    (path, body) =>
      isLying && path.startsWith('/schema/')
        ? { ...body, typed: lie(body['typed'] as Record<string, unknown>[]), fingerprint: 'f'.repeat(64) }
        : body,
    undefined,
    (message) => [isLying && message['type'] === 'block' ? { ...message, schema_fingerprint: 'f'.repeat(64) } : message]
  );
  return { url, lie: () => (isLying = true) };
}

async function follow(sources: readonly string[]) {
  const at = await createDatabase('schema_quorum_replica');
  const replica = new ReplicaThread(at, 'indexer', sources, { epochSize: 5 });
  await replica.until('live', ({ phase }) => phase === 'live');
  return { at, replica };
}

const tablesOf = async (at: DatabaseCoordinates) => {
  const found = await sql(
    at,
    'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()'
  );
  return (found as { name: string }[]).map(({ name }) => name);
};

for (const [what, lie] of [
  ['leaves out a table', (tables) => tables.filter(({ name }) => name !== 'notes')],
  [
    'leaves out a column',
    (tables) =>
      tables.map((table) =>
        table['name'] === 'notes' ? { ...table, columns: (table['columns'] as unknown[]).slice(0, 1) } : table
      )
  ]
] as [string, Parameters<typeof startLiar>[0]][])
  test(`one of three sources ${what} and nothing of it is lost: the next source is followed, and the liar is named`, async () => {
    const liar = await startLiar(lie);
    const { at, replica } = await follow([liar.url, honest, second]);
    liar.lie();
    const tip = await appendBlocks(source, 1, what);
    await replica.until('at the tip', ({ height }) => height === tip);
    assert.ok(replica.source(liar.url)!.dissents > 0);
    for (const url of [honest, second]) assert.equal(replica.source(url)!.dissents, 0);
    assert.deepEqual((await sql(at, 'SELECT note FROM notes')) as unknown, [{ note: 'kept' }]);
    assert.ok((await tablesOf(at)).every((name) => !name.startsWith('_gone_')));
    await replica.end();
  });

test('a table that all sources have no more is set aside with its rows', async () => {
  const { at, replica } = await follow([honest, second]);
  await sql(source, 'DROP TABLE papers');
  const tip = await appendBlocks(source, 1, 'without papers');
  await replica.until('at the tip', ({ height }) => height === tip);
  const tables = await tablesOf(at);
  const aside = tables.find((name) => name.startsWith('_gone_papers_'));
  assert.ok(aside !== undefined && !tables.includes('papers'), tables.join());
  assert.deepEqual((await sql(at, `SELECT note FROM ${aside}`)) as unknown, [{ note: 'kept' }]);
  await replica.end();
});
