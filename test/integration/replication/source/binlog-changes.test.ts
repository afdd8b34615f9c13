import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../../../src/db/connection.ts';
import { createLogger } from '../../../../src/log.ts';
import { BinlogChanges } from '../../../../src/replication/source/binlog/changes.ts';
import { isOfOneLog, readLogState } from '../../../../src/replication/source/binlog/position.ts';
import { readLayout, type SourceLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { createDatabase, startOwnServer } from '../../../support/mariadb.ts';
import { hadEnded } from '../../../support/sql.ts';

const LAYOUT = { plans: [], tables: [], outsideChildren: new Set() } as unknown as SourceLayout;
const HEAL_MS = 10_000;

let root: DatabaseCoordinates;
let writer: Connection;
let reader: DatabaseCoordinates;

before(async () => {
  const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  root = await createDatabase('log', server.root);
  writer = await connect(root);
  await writer.query('CREATE TABLE t (id INT PRIMARY KEY)');
  await writer.query("CREATE USER reader@'%' IDENTIFIED BY 'secret'");
  await writer.query("GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO reader@'%'");
  reader = { ...root, user: 'reader', pass: 'secret' };
});

after(() => writer.destroy());

function changes(): BinlogChanges {
  const made = new BinlogChanges({
    mode: 'auto',
    coordinates: reader,
    log: createLogger('test', 'silent'),
    open: () => connect(reader)
  });
  atEnd(async () => made.stop());
  return made;
}

/** Calls back within a consistent snapshot. */
async function inSnapshot<T>(run: (statements: Connection) => Promise<T>): Promise<T> {
  const connection = await connect(reader);
  try {
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    return await run(connection);
  } finally {
    connection.destroy();
  }
}

const MADE = 'SELECT TABLE_NAME AS name, TABLE_ROWS AS n, CREATE_TIME AS time FROM information_schema.TABLES';
let next = 1;
const write = () => writer.query('INSERT INTO t VALUES (?)', [next++]);

test('a log that was made anew while nobody followed is another one, also where a position of the old one is in it', async () => {
  await writer.query('RESET MASTER');
  await write();
  const log = changes();
  await inSnapshot((statements) => log.begin(statements, LAYOUT, null));
  await inSnapshot(async (statements) => log.accept((await log.upTo(statements))!.at));
  const { kept } = log;
  assert.ok(kept?.began, JSON.stringify(kept));
  log.stop();
  await sleep(1_100); // the head of a file has its time in seconds
  await writer.query('RESET MASTER');
  await write();
  const successor = changes();
  const [isKnown, read] = await inSnapshot(async (statements) => [
    await successor.begin(statements, LAYOUT, kept),
    await successor.upTo(statements)
  ]);
  assert.equal(isKnown && read !== null, false);
  assert.match(successor.report.reason ?? '', /made anew/);
  const next = await inSnapshot((statements) => successor.upTo(statements));
  assert.equal(next?.touched.isAll, true);
  assert.equal(
    successor.kept,
    null,
    'what changed before it is sent with this group: who comes before that knows nothing of it'
  );
  successor.accept(next.at);
  assert.ok(successor.kept);
});

test('a question in a snapshot older than the last group leaves the log to the groups as it is', async () => {
  const log = changes();
  await inSnapshot((statements) => log.begin(statements, LAYOUT, null));
  await inSnapshot(async (older) => {
    await write();
    await inSnapshot(async (statements) => log.accept((await log.upTo(statements))!.at));
    assert.equal(await log.isUnchanged(older, 't'), null, 'what was noted up to it is forgotten');
    await write();
  });
  const read = await inSnapshot((statements) => log.upTo(statements));
  assert.deepEqual([read?.touched.isAll, read?.touched.has('t')], [false, true]);
});

test('several questions at once begin one reader of the log', async () => {
  const readers = async () =>
    (
      await rows(
        writer,
        "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'reader' AND COMMAND LIKE 'Binlog Dump%'"
      )
    ).length;
  const before = await readers();
  const log = changes();
  await write();
  const upTo = () => inSnapshot((statements) => log.upTo(statements));
  assert.ok((await Promise.all([upTo(), upTo(), upTo()])).every((read) => read !== null));
  assert.equal(await readers(), before + 1);
});

test('after a restart of a server that writes its log or its rows late, it is not known what changed before', async () => {
  const { at: here } = await inSnapshot(readLogState);
  assert.equal(here?.isSynced, false);
  assert.equal(isOfOneLog(here, { ...here, started: here.started! + 5 }), false);
  assert.equal(isOfOneLog(here, { ...here, started: here.started! + 5, isSynced: true }), true);
  assert.equal(isOfOneLog(here, { ...here, started: here.started! + 1 }), true);
  const [settings] = await rows(writer, 'SELECT @@GLOBAL.innodb_flush_log_at_trx_commit AS flushed');
  for (const [synced, flushed] of [
    [1, 1],
    [1, 0],
    [1, 2],
    [0, 1]
  ] as const) {
    await writer.query(`SET GLOBAL sync_binlog = ${synced}`);
    await writer.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${flushed}`);
    assert.equal((await inSnapshot(readLogState)).at?.isSynced, synced === 1 && flushed === 1, `${synced} ${flushed}`);
  }
  await writer.query('SET GLOBAL sync_binlog = 0');
  await writer.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${settings!['flushed']}`);
});

test('a setting that leaves changes out of the log is noticed with the next snapshot, and its end too', async () => {
  const log = changes();
  await inSnapshot((statements) => log.begin(statements, LAYOUT, null));
  await writer.query('SET GLOBAL binlog_format = STATEMENT');
  assert.equal(await inSnapshot((statements) => log.upTo(statements)), null);
  assert.match(log.report.reason ?? '', /binlog_format is STATEMENT/);
  await writer.query('SET GLOBAL binlog_format = ROW');
  const read = await inSnapshot((statements) => log.upTo(statements));
  assert.equal(read?.touched.isAll, true, 'what changed meanwhile is not known');
});

test('a right that is taken away is named, and used again within seconds when it is granted again', async () => {
  const log = changes();
  await inSnapshot((statements) => log.begin(statements, LAYOUT, null));
  await write();
  assert.ok(await inSnapshot((statements) => log.upTo(statements)));
  await writer.query("REVOKE REPLICATION SLAVE, BINLOG MONITOR ON *.* FROM reader@'%'");
  for (const { ID } of await rows(writer, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'reader'"))
    await writer.query(`KILL ${ID}`).catch(hadEnded);
  for (let round = 0; round < 8; round++) {
    await write();
    assert.equal(await inSnapshot((statements) => log.upTo(statements)), null);
  }
  assert.match(log.report.reason ?? '', /denied/);
  await writer.query("GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO reader@'%'");
  const end = performance.now() + HEAL_MS;
  let read = null;
  while (read === null && performance.now() < end) {
    await write();
    read = await inSnapshot((statements) => log.upTo(statements));
    await sleep(500);
  }
  assert.ok(read, log.report.reason ?? '');
});

test('a database that the server keeps in lower case is found in the log, however it is written', async () => {
  const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW', '--lower-case-table-names=1']);
  const opening = await connect(server.root);
  await opening.query('CREATE DATABASE Mixed_Case');
  opening.destroy();
  const to = { ...server.root, name: 'Mixed_Case' };
  const connection = await connect(to);
  await connection.query('CREATE TABLE t (id INT PRIMARY KEY)');
  const log = new BinlogChanges({
    mode: 'auto',
    coordinates: to,
    log: createLogger('test', 'silent'),
    open: () => connect(to)
  });
  atEnd(async () => log.stop());
  const layout = await readLayout(connection, 'decoder');
  const read = async (work: (statements: Connection) => Promise<unknown>) => {
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    await work(connection);
    await connection.query('COMMIT');
  };
  await read((statements) => log.begin(statements, layout, null));
  await connection.query('INSERT INTO t VALUES (7)');
  await connection.query('TRUNCATE TABLE t');
  await read(async (statements) => {
    const found = await log.upTo(statements);
    assert.deepEqual([found?.touched.isAll, found?.touched.isWhole('t')], [false, true]);
  });
  connection.destroy();
});

test('rows that a foreign key to another database may change count as altered, and so do those that they change', async () => {
  const other = await createDatabase('outside', root);
  await writer.query(`CREATE TABLE \`${other.name}\`.parents (id INT PRIMARY KEY)`);
  await writer.query(
    `CREATE TABLE children (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES \`${other.name}\`.parents (id) ON DELETE CASCADE)`
  );
  await writer.query(
    'CREATE TABLE grandchildren (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES children (id) ON DELETE CASCADE)'
  );
  const log = changes();
  const layout = await readLayout(writer, 'decoder');
  await inSnapshot((statements) => log.begin(statements, layout, null));
  await inSnapshot(async (statements) => {
    const touched = (await log.upTo(statements))!.touched;
    const altered = ['children', 'grandchildren', 't'].map((table) => touched.isAltered(table));
    assert.deepEqual(altered, [true, true, false]);
  });
  for (const table of ['grandchildren', 'children']) await writer.query(`DROP TABLE ${table}`);
});

test('a table that shows the rows of others counts as altered', async () => {
  await writer.query('CREATE TABLE shown (id INT PRIMARY KEY) ENGINE = MyISAM');
  await writer.query('CREATE TABLE view_of_it (id INT PRIMARY KEY) ENGINE = MERGE UNION = (shown)');
  const log = changes();
  const layout = await readLayout(writer, 'decoder');
  await inSnapshot((statements) => log.begin(statements, layout, null));
  await inSnapshot(async (statements) => {
    const touched = (await log.upTo(statements))!.touched;
    assert.deepEqual([touched.isAltered('shown'), touched.isAltered('view_of_it')], [false, true]);
  });
  for (const table of ['view_of_it', 'shown']) await writer.query(`DROP TABLE ${table}`);
});

test('a table that a session emptied without the log counts as altered, once', async () => {
  await writer.query('CREATE TABLE emptied (id INT PRIMARY KEY)');
  await writer.query('INSERT INTO emptied SELECT seq FROM seq_1_to_2000');
  const log = changes();
  await inSnapshot(async (statements) => log.begin(statements, await readLayout(statements, 'decoder'), null));
  const group = () =>
    inSnapshot(async (statements) => {
      const made = await rows(statements, `${MADE} WHERE TABLE_SCHEMA = DATABASE()`);
      const facts = new Map(
        made.map(({ name, n, time }) => [String(name), { rows: Number(n), createTime: String(time) }])
      );
      const read = (await log.readForGroup(statements, facts))!;
      log.accept(read.at);
      return [read.touched.isAltered('emptied'), read.touched.isAll];
    });
  assert.deepEqual(await group(), [false, false]);
  await writer.query('SET SESSION sql_log_bin = 0');
  await writer.query('TRUNCATE emptied');
  await writer.query('SET SESSION sql_log_bin = 1');
  assert.deepEqual(await group(), [true, false]);
  await write();
  assert.deepEqual(await group(), [false, false]);
});
