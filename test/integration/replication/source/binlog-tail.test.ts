import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { startMariaDb } from '../../../../src/devnet/processes/mariadb.ts';
import { isOfOneLog, readLogState, type ServerPosition } from '../../../../src/replication/source/binlog/position.ts';
import { BinlogTail } from '../../../../src/replication/source/binlog/tail.ts';
import { TouchedLog } from '../../../../src/replication/source/binlog/touched.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase, makeServerDirectory, startOwnServer } from '../../../support/mariadb.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

const DATABASE = 'tailed';
const OPTIONS = ['--log-bin=binlog', '--binlog-format=ROW', '--server-id=1'];

async function position(connection: Connection) {
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
  const { at } = await readLogState(connection);
  await connection.query('COMMIT');
  return at!;
}

/** The rows of all transactions since a position. */
async function touchedSince(to: DatabaseCoordinates, start: ServerPosition, column: string, connection: Connection) {
  const log = new TouchedLog();
  const tail = new BinlogTail(to, start, log, { tables: () => ['notes', 'words'], valueColumn: () => column });
  try {
    const here = await position(connection);
    assert.ok(await tail.reached(here, 20_000), tail.fault ?? 'it does not arrive');
    return log.upTo(here);
  } finally {
    tail.stop();
  }
}

/** A tail that is late goes on as long as it reads; it connects again where it has read nothing since it was late before. */
async function isPatient(tail: BinlogTail, connection: Connection): Promise<void> {
  const { connections } = tail;
  for (const [id, times] of [
    [11, 1],
    [12, 2]
  ] as const) {
    await connection.query('INSERT INTO notes VALUES (?)', [id]);
    const here = await position(connection);
    assert.ok(await tail.reached(here, 20_000), tail.fault ?? 'it does not arrive');
    for (let time = 0; time < times; time++) tail.noteLate();
    assert.equal(tail.fault === null, times === 1);
  }
  await eventually('it reads again', async () => tail.connections === connections + 1);
}

test('a tail goes on with the next file of the log, also after a crash; only a log that is synced counts as one with that before it', async (t) => {
  const directory = makeServerDirectory();
  let server = await startMariaDb(directory, OPTIONS);
  t.after(() => server.stop());
  const to = { ...server.root, name: DATABASE };
  const opening = await connect(server.root);
  await opening.query(`CREATE DATABASE ${DATABASE}`);
  await opening.query(`CREATE TABLE ${DATABASE}.notes (id INT PRIMARY KEY)`);
  let connection = await connect(to);
  const log = new TouchedLog();
  const tail = new BinlogTail(to, await position(connection), log, {
    tables: () => ['notes'],
    valueColumn: () => 'id'
  });
  t.after(() => tail.stop());
  await connection.query('INSERT INTO notes VALUES (1)');
  await connection.query('FLUSH BINARY LOGS');
  await connection.query('INSERT INTO notes VALUES (2)');
  const rotated = await position(connection);
  assert.ok(await tail.reached(rotated, 20_000), tail.fault ?? 'it does not arrive');
  assert.equal(log.upTo(rotated).isAll, false);
  assert.deepEqual([...log.upTo(rotated).values('notes')], [1, 2]);
  await isPatient(tail, connection);
  for (const each of [opening, connection]) each.destroy();
  await server.stop('SIGKILL');
  server = await startMariaDb(directory, OPTIONS, server.root.port);
  connection = await connect(to);
  await connection.query('INSERT INTO notes VALUES (3)');
  const after = await position(connection);
  assert.ok(await tail.reached(after, 60_000), tail.fault ?? 'it does not arrive');
  assert.deepEqual([...log.upTo(after).values('notes')], [1, 2, 3, 11, 12]);
  // What it lost may have been committed; the first server did not live long enough to tell their starts apart.
  assert.equal(isOfOneLog({ ...rotated, started: rotated.started! - 5 }, { ...after, isSynced: false }), false);
  connection.destroy();
});

test('rows of before a change of columns count as altered, whatever the columns are called now', async (t) => {
  const { root } = await startOwnServer(OPTIONS);
  const to = await createDatabase('columns', root);
  const connection = await connect(to);
  t.after(() => connection.destroy());
  await connection.query(
    "CREATE TABLE notes (id INT PRIMARY KEY, word VARCHAR(9) NOT NULL, kind ENUM('a', 'b') NOT NULL)"
  );
  await connection.query('CREATE TABLE words (id INT PRIMARY KEY, word VARCHAR(9) NOT NULL)');
  const start = await position(connection);
  await connection.query("INSERT INTO notes VALUES (1, 'one', 'b')");
  await connection.query("UPDATE notes SET word = 'other' WHERE id = 1");
  await connection.query("INSERT INTO words VALUES (1, 'one')");
  await connection.query('ALTER TABLE notes ADD COLUMN rank INT NULL FIRST');
  await connection.query("ALTER TABLE words DROP COLUMN word, ADD COLUMN text VARCHAR(9) NOT NULL DEFAULT '' FIRST");
  const touched = await touchedSince(to, start, 'id', connection);
  for (const table of ['notes', 'words'])
    assert.deepEqual(
      [touched.isAltered(table), touched.isWhole(table), touched.values(table).size],
      [true, false, 0],
      table
    );
  // A tail that follows a table has its columns as they were.
  const later = await position(connection);
  await connection.query("INSERT INTO notes (id, word, kind) VALUES (2, 'two', 'a')");
  const named = await touchedSince(to, later, 'id', connection);
  assert.deepEqual([[...named.values('notes')], named.isAltered('notes')], [[2], false]);
  await connection.query('DROP TABLE words');
  const dropped = await touchedSince(to, start, 'id', connection);
  assert.deepEqual([dropped.isAll, dropped.isWhole('words')], [false, true]);
});

test('a tail gives up before it reads a file whose checksums are not those that it began with', async (t) => {
  const { root } = await startOwnServer(OPTIONS);
  const to = await createDatabase('checksums', root);
  const connection = await connect(to);
  t.after(() => connection.destroy());
  await connection.query('CREATE TABLE notes (id INT PRIMARY KEY)');
  for (const setting of ['NONE', 'CRC32']) {
    const start = await position(connection);
    const log = new TouchedLog();
    const tail = new BinlogTail(to, start, log, { tables: () => ['notes'], valueColumn: () => 'id' });
    t.after(() => tail.stop());
    await connection.query('TRUNCATE TABLE notes');
    const known = await position(connection);
    assert.ok(await tail.reached(known, 20_000), tail.fault ?? 'it does not arrive');
    assert.ok(log.upTo(known).isWhole('notes'));
    await connection.query(`SET GLOBAL binlog_checksum = ${setting}`);
    await connection.query('TRUNCATE TABLE notes');
    const here = await position(connection);
    assert.deepEqual([await tail.reached(here, 20_000), tail.isLost], [false, true]);
    assert.match(tail.fault ?? '', /checksum/);
    const touched = await touchedSince(to, here, 'id', connection);
    assert.deepEqual([touched.isAll, touched.isEmpty], [false, true]);
  }
});

test('a number that another start of the server gives to the same table has the columns of that start', async (t) => {
  const directory = makeServerDirectory();
  let server = await startMariaDb(directory, OPTIONS);
  t.after(() => server.stop());
  const opening = await connect(server.root);
  const to = { ...server.root, name: DATABASE };
  await opening.query(`CREATE DATABASE ${DATABASE}`);
  await opening.query(`CREATE TABLE ${DATABASE}.notes (n BIGINT NOT NULL, id INT PRIMARY KEY)`);
  let connection = opening;
  const restart = async () => {
    connection.destroy();
    await server.stop('SIGKILL');
    server = await startMariaDb(directory, OPTIONS, server.root.port);
    connection = await connect(to);
  };
  await restart();
  const start = await position(connection);
  await connection.query('INSERT INTO notes VALUES (1, 1), (2, 2)');
  await connection.query('ALTER TABLE notes MODIFY n INT NOT NULL');
  await restart();
  await connection.query('INSERT INTO notes VALUES (1, 7)');
  const touched = await touchedSince(to, start, 'id', connection);
  assert.deepEqual([touched.isAll, ...touched.values('notes')], [false, 1, 2, 7]);
  connection.destroy();
});
