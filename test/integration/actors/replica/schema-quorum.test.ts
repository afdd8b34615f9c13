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
await sql(
  source,
  `CREATE TABLE words (id INT PRIMARY KEY, block_index INT NULL, word VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
     loud VARCHAR(20) GENERATED ALWAYS AS (ucase(word)) STORED, name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci,
     UNIQUE KEY (word), UNIQUE KEY (name), KEY (block_index), KEY (loud))`,
  "INSERT INTO words (id, block_index, word, name) VALUES (1, NULL, 'one', 'ß'), (2, NULL, 'One', 'ss')"
);
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

/** Says of one column of a table something else than the source has. */
const says =
  (table: string, column: string, other: Record<string, unknown>) =>
  (tables: Record<string, unknown>[]): Record<string, unknown>[] =>
    tables.map((each) => {
      const columns = each['columns'] as Record<string, unknown>[];
      const others = columns.map((known) => (known['name'] === column ? { ...known, ...other } : known));
      return each['name'] === table ? { ...each, columns: others } : each;
    });

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

for (const [what, lie] of [
  [
    'makes a generated column otherwise',
    says('words', 'loud', { generated: { expression: 'lcase(`word`)', stored: true } })
  ],
  ['takes texts of other case for the same', says('words', 'word', { collation: 'utf8mb4_general_ci' })],
  ['says a collation that the rows do not fit', says('words', 'name', { collation: 'utf8mb4_unicode_ci' })],
  [
    'leaves out the key by which a table has blocks',
    (tables) =>
      tables.map((table) => {
        const keys = (table['keys'] as { name: string }[]).filter(({ name }) => name !== 'block_index');
        return table['name'] === 'words' ? { ...table, keys } : table;
      })
  ]
] as [string, Parameters<typeof startLiar>[0]][])
  test(`one of three sources ${what}: the replica stays as it is, and the liar is named`, async () => {
    const liar = await startLiar(lie);
    const { at, replica } = await follow([liar.url, honest, second]);
    const made = async () =>
      sql(
        at,
        "SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'blocks'"
      );
    const before = await made();
    liar.lie();
    for (const step of ['one', 'two', 'three']) {
      const tip = await appendBlocks(source, 1, `${what} ${step}`);
      await replica.until('at the tip', ({ height }) => height === tip);
    }
    assert.ok(replica.source(liar.url)!.dissents > 0);
    assert.deepEqual(await made(), before, 'it was not loaded again');
    const words = await sql(at, 'SELECT word, loud FROM words ORDER BY id');
    assert.deepEqual(words as unknown, [
      { word: 'one', loud: 'ONE' },
      { word: 'One', loud: 'ONE' }
    ]);
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
