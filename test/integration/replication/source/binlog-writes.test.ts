import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { createLogger } from '../../../../src/log.ts';
import { BinlogChanges } from '../../../../src/replication/source/binlog/changes.ts';
import type { ServerPosition } from '../../../../src/replication/source/binlog/position.ts';
import { findBinlogObstacle } from '../../../../src/replication/source/binlog/support.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { createDatabase, startOwnServer } from '../../../support/mariadb.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

/** Rows that a step changed, by table: the values that divide it, or `whole` or `altered`. `all`: every table may have changed. */
type Touched = Readonly<Record<string, readonly number[] | 'whole' | 'altered'>> | 'all';

const TABLES = [
  'notes (id INT PRIMARY KEY, v INT)',
  'scoped (block_index BIGINT NOT NULL, v INT, KEY (block_index))',
  'keyless (v INT, word VARCHAR(9))',
  'parents (id INT PRIMARY KEY, v INT)',
  'children (id INT PRIMARY KEY, parent INT NULL, FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE SET NULL)',
  'grandchildren (id INT PRIMARY KEY, child INT, FOREIGN KEY (child) REFERENCES children (id) ON DELETE CASCADE)',
  'guarded (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parents (id))',
  'parted (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))',
  'spare (id INT PRIMARY KEY)'
];

/** Statements by which rows change, and what the log names of each. */
const STEPS: readonly (readonly [string, readonly string[], Touched])[] = [
  ['an insert', ['INSERT INTO notes VALUES (1, 1), (2, 2)'], { notes: [1, 2] }],
  ['an update', ['UPDATE notes SET v = 3 WHERE id = 1'], { notes: [1] }],
  ['a row that moves', ['UPDATE notes SET id = 9 WHERE id = 2'], { notes: [2, 9] }],
  ['REPLACE', ['REPLACE INTO notes VALUES (9, 4)'], { notes: [9] }],
  ['a delete', ['DELETE FROM notes WHERE id = 9'], { notes: [9] }],
  [
    'a scoped row that moves',
    ['INSERT INTO scoped VALUES (5, 1)', 'UPDATE scoped SET block_index = 3'],
    { scoped: [3, 5] }
  ],
  ['a table without a key', ['INSERT INTO keyless VALUES (1, NULL)'], { keyless: 'whole' }],
  ['a transaction that ends otherwise', ['BEGIN', 'INSERT INTO notes VALUES (20, 1)', 'ROLLBACK'], {}],
  [
    'a savepoint',
    [
      'BEGIN',
      'INSERT INTO notes VALUES (21, 1)',
      'SAVEPOINT s',
      'INSERT INTO notes VALUES (22, 1)',
      'ROLLBACK TO s',
      'COMMIT'
    ],
    { notes: [21] }
  ],
  [
    'XA',
    ["XA START 'one'", 'INSERT INTO notes VALUES (31, 1)', "XA END 'one'", "XA PREPARE 'one'", "XA COMMIT 'one'"],
    { notes: [31] }
  ],
  [
    'XA that is rolled back',
    ["XA START 'two'", 'INSERT INTO notes VALUES (32, 1)', "XA END 'two'", "XA PREPARE 'two'", "XA ROLLBACK 'two'"],
    {}
  ],
  ['a parent that is only added', ['INSERT INTO parents VALUES (1, 1), (2, 1)'], { parents: [1, 2] }],
  [
    'children',
    ['INSERT INTO children VALUES (1, 1)', 'INSERT INTO grandchildren VALUES (1, 1)'],
    { children: [1], grandchildren: [1] }
  ],
  [
    'a parent that is deleted',
    ['DELETE FROM parents WHERE id = 1'],
    { parents: [1], children: 'whole', grandchildren: 'whole' }
  ],
  [
    'a statement with data',
    [
      "SET SESSION binlog_format = 'STATEMENT'",
      'UPDATE notes SET v = 7 WHERE id = 1',
      "SET SESSION binlog_format = 'ROW'"
    ],
    'all'
  ],
  ['TRUNCATE', ['TRUNCATE TABLE notes'], { notes: 'whole' }],
  ['a new column', ['ALTER TABLE spare ADD COLUMN v INT'], { spare: 'altered' }],
  ['a column that goes', ['ALTER TABLE spare DROP COLUMN v'], { spare: 'altered' }],
  [
    'names that are exchanged',
    ['RENAME TABLE notes TO other, spare TO notes, other TO spare'],
    { notes: 'whole', spare: 'whole' }
  ],
  [
    'a partition that is exchanged',
    [
      'CREATE TABLE fresh (id INT PRIMARY KEY)',
      'ALTER TABLE parted EXCHANGE PARTITION p0 WITH TABLE fresh',
      'DROP TABLE fresh'
    ],
    { parted: 'whole' }
  ],
  ['a partition that is dropped', ['ALTER TABLE parted DROP PARTITION p0'], { parted: 'whole' }],
  [
    'indexes, comments and rights',
    ['CREATE INDEX by_v ON scoped (v)', 'ANALYZE TABLE scoped', "CREATE USER IF NOT EXISTS 'x'@'%'"],
    {}
  ]
];

let root: DatabaseCoordinates;
let writer: Connection;

before(async () => {
  const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  root = await createDatabase('writes', server.root);
  writer = await connect(root);
  for (const table of TABLES) await writer.query(`CREATE TABLE ${table}`);
});

after(() => writer.destroy());

async function inSnapshot<T>(run: (statements: Connection) => Promise<T>): Promise<T> {
  const connection = await connect(root);
  try {
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    return await run(connection);
  } finally {
    connection.destroy();
  }
}

function changes(): BinlogChanges {
  const log = createLogger('test', 'silent');
  const made = new BinlogChanges({ mode: 'auto', coordinates: root, log, open: () => connect(root) });
  atEnd(async () => made.stop());
  return made;
}

async function begin(following: BinlogChanges, kept: ServerPosition | null = null): Promise<boolean> {
  return inSnapshot(async (statements) => following.begin(statements, await readLayout(statements, 'decoder'), kept));
}

/** Reads what changed since the last reading, and counts it as broadcast. */
async function readNext(following: BinlogChanges): Promise<Touched> {
  const layout = await inSnapshot((statements) => readLayout(statements, 'decoder'));
  following.align(layout);
  const read = await inSnapshot((statements) => following.upTo(statements));
  assert.ok(read, following.report.reason ?? 'the log does not tell');
  following.accept(read.at);
  const { touched } = read;
  if (touched.isAll) return 'all';
  const found: Record<string, number[] | 'whole' | 'altered'> = {};
  for (const { name } of layout.plans) {
    if (touched.isWhole(name)) found[name] = 'whole';
    else if (touched.isAltered(name)) found[name] = 'altered';
    else if (touched.has(name)) found[name] = [...touched.values(name)].map(Number).sort((one, other) => one - other);
  }
  return found;
}

test('the log names the rows that each kind of statement changes, or their table, or says that it does not know', async () => {
  const following = changes();
  await begin(following);
  for (const [what, statements, expected] of STEPS) {
    for (const statement of statements) await writer.query(statement);
    assert.deepEqual(await readNext(following), expected, what);
  }
});

test('rows of a prepared transaction count where it is committed, and as unknown where nobody saw it prepared', async () => {
  const prepare = async (name: string, id: number) => {
    for (const sql of [
      `XA START '${name}'`,
      `INSERT INTO parents VALUES (${id}, 1)`,
      `XA END '${name}'`,
      `XA PREPARE '${name}'`
    ])
      await writer.query(sql);
    // A session that goes away leaves its prepared transaction.
    writer.destroy();
    writer = await connect(root);
  };
  await prepare('before', 101);
  const following = changes();
  await begin(following);
  await prepare('meanwhile', 102);
  assert.deepEqual(await readNext(following), {});
  await writer.query("XA COMMIT 'meanwhile'");
  assert.deepEqual(await readNext(following), { parents: [102] });
  await writer.query("XA COMMIT 'before'");
  assert.deepEqual(await readNext(following), 'all');
});

test('a group waits for the rows of a large transaction', async () => {
  const following = changes();
  await begin(following);
  const [first, last] = [1_000_000, 1_200_000];
  await writer.query(`INSERT INTO parents SELECT seq, 1 FROM seq_${first}_to_${last}`);
  const { at, touched } = (await inSnapshot((statements) => following.upTo(statements)))!;
  assert.deepEqual(touched.spans('parents'), [[first, last]]);
  following.accept(at);
});

test('parts that changed and that the log did not name are counted', async () => {
  const following = changes();
  await begin(following);
  await writer.query('INSERT INTO parents VALUES (301, 1)');
  const found = [301, 302, 303].map((value) => [value, value] as const);
  await inSnapshot((statements) => following.check(statements, 'parents', found));
  assert.equal(following.report.missed, 2);
});

test('a successor reads what changed since its predecessor; where the log does not go back to it, everything may have changed', async () => {
  const predecessor = changes();
  await begin(predecessor);
  assert.deepEqual(await readNext(predecessor), {});
  const { kept } = predecessor;
  predecessor.stop();
  await writer.query('INSERT INTO parents VALUES (201, 1)');
  const successor = changes();
  assert.equal(await begin(successor, kept), true);
  assert.deepEqual(await readNext(successor), { parents: [201] });
  // Of another server, or without the file.
  const stranger = changes();
  assert.equal(await begin(stranger, { ...kept!, server: 'another' }), false);
  await writer.query('FLUSH BINARY LOGS');
  await writer.query('FLUSH BINARY LOGS');
  const [[{ File: newest }]] = (await writer.query('SHOW MASTER STATUS')) as unknown as [[{ File: string }]];
  successor.stop();
  await eventually('no reader keeps the file', async () => {
    await writer.query(`PURGE BINARY LOGS TO '${newest}'`);
    const [files] = (await writer.query('SHOW BINARY LOGS')) as unknown as [unknown[]];
    return files.length === 1;
  });
  const late = changes();
  await begin(late, kept);
  assert.equal(await inSnapshot((statements) => late.upTo(statements)), null);
  assert.match(late.report.reason ?? '', /its position in the binary log is gone/);
  assert.deepEqual(await readNext(late), 'all');
  assert.deepEqual(await readNext(late), {});
});

test('a server that leaves databases out of its log is not followed by it', async () => {
  for (const filter of ['--binlog-do-db=another', '--binlog-ignore-db=another']) {
    const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW', filter]);
    const connection = await connect(await createDatabase('filtered', server.root));
    const [[{ name }]] = (await connection.query('SELECT DATABASE() AS name')) as unknown as [[{ name: string }]];
    assert.match((await findBinlogObstacle(connection, name)) ?? '', /may leave changes out.*remove them/, filter);
    connection.destroy();
  }
});
