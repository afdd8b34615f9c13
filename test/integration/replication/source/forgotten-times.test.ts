import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../../../src/db/connection.ts';
import { inSnapshot } from '../../../../src/db/in-snapshot.ts';
import { startMariaDb } from '../../../../src/devnet/processes/mariadb.ts';
import { readGroup } from '../../../../src/replication/source/reading/group-reader.ts';
import { memoryAtTip } from '../../../../src/replication/source/reading/memory-start.ts';
import { readTip } from '../../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { blockMessage } from '../../../../src/wire/data/block.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import type { BlockMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase, makeServerDirectory, startOwnServer } from '../../../support/mariadb.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

const ID = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
const DATABASE = 'forgotten';
/** A table's times say nothing about what changed within this time. */
const FRESH_MS = 11_000;
/** A table that shows no time of change. */
const UNTIMED = 'held';
const TABLES = ['changed', 'rebuilt', 'altered', 'emptied', 'idle'];
/** Small enough to be read whole, and more than a group reads of a table without a time of change. */
const ROWS = 3_000;
/** The least that MariaDB lets its cache of tables hold. */
const CACHED_TABLES = 400;

const tellsOf = ({ data, updated_rows = {}, deleted_rows = {}, ranges = {} }: BlockMessage, table: string) =>
  [data, updated_rows, deleted_rows, ranges].some((part) => part[table] !== undefined);

/** Waits until no table was changed or made of late. */
async function rest(writer: Connection): Promise<void> {
  await sleep(FRESH_MS);
  await writer.query('SELECT 1');
}

test('rows of a table whose time of change MariaDB forgot are sent: after another start, and after another definition', async (t) => {
  const directory = makeServerDirectory();
  let server = await startMariaDb(directory);
  t.after(() => server.stop());
  const opening = await connect(server.root);
  await opening.query(`CREATE DATABASE ${DATABASE}`);
  await opening.end();
  const open = async () => {
    const connection = await connect({ ...server.root, name: DATABASE }, { finderKey: TEST_KEY, several: true });
    t.after(() => connection.destroy());
    return connection;
  };
  let [writer, reader] = [await open(), await open()];
  const restart = async () => {
    for (const connection of [writer, reader]) connection.destroy();
    await server.stop();
    server = await startMariaDb(directory, [], server.root.port);
    [writer, reader] = [await open(), await open()];
  };
  await writer.query(
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)'
  );
  for (const table of TABLES) {
    await writer.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, n INT NULL, text VARCHAR(20) NOT NULL)`);
    await writer.query(`INSERT INTO ${table} SELECT seq, seq, 'first' FROM seq_1_to_${ROWS}`);
  }
  await writer.query("INSERT INTO blocks (block_index, block_hash) VALUES (1, 'h1')");
  const layout = await readLayout(reader, 'decoder');
  const memory = await inSnapshot(reader, async () =>
    memoryAtTip(reader, layout, await readTip(reader, layout.heads!))
  );
  let height = 1;
  const next = async (): Promise<string[]> => {
    height += 1;
    await writer.query(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height}')`);
    let message: BlockMessage | undefined;
    for await (const block of readGroup(reader, 'decoder', [], memory)) {
      message = blockMessage(ID, block);
      memory.accept(block);
    }
    return TABLES.filter((table) => tellsOf(message!, table));
  };
  await restart();
  await rest(writer);
  for (let count = 0; count < 2; count += 1) assert.deepEqual(await next(), []);
  const times = await rows(writer, `SELECT UPDATE_TIME AS t FROM information_schema.TABLES WHERE TABLE_NAME IN (?)`, [
    TABLES
  ]);
  assert.deepEqual(
    times.map((row) => row['t']),
    TABLES.map(() => null),
    'MariaDB knows no time'
  );
  await writer.query("UPDATE changed SET text = 'by hand' WHERE id = 7");
  await restart();
  assert.deepEqual(await next(), ['changed']);
  await rest(writer);
  assert.deepEqual(await next(), []);
  await writer.query("UPDATE rebuilt SET text = 'by hand' WHERE id = 7");
  await writer.query('ALTER TABLE rebuilt FORCE');
  await writer.query('ALTER TABLE altered DROP COLUMN n');
  await writer.query('ALTER TABLE altered ADD COLUMN n INT NULL AFTER id');
  await writer.query('TRUNCATE emptied');
  assert.deepEqual(await next(), ['rebuilt', 'altered', 'emptied']);
});

const PARTITIONS = 'PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (9), PARTITION b VALUES LESS THAN MAXVALUE)';
/** Tables of which a change moves no time at once: the end of their definitions, and a change. */
const STANDING: readonly (readonly [what: string, definition: string, change: string])[] = [
  ['an engine that keeps no time', 'ENGINE = MEMORY', `UPDATE ${UNTIMED} SET n = -1 WHERE id = 7`],
  ['an engine that writes its files later', 'ENGINE = Aria', `UPDATE ${UNTIMED} SET n = -1 WHERE id = 7`],
  ['an emptied partition', PARTITIONS, `ALTER TABLE ${UNTIMED} TRUNCATE PARTITION a`],
  ['an exchanged partition', PARTITIONS, `ALTER TABLE ${UNTIMED} EXCHANGE PARTITION a WITH TABLE spare`]
];

for (const [what, definition, change] of STANDING) {
  test(`rows of a table that shows no time of change are sent, without a log: ${what}`, async (t) => {
    const { writer, next } = await startUntimed(t, await createDatabase('untimed'), definition);
    await writer.query('CREATE TABLE spare (id INT PRIMARY KEY, n INT NOT NULL)');
    await writer.query('INSERT INTO spare SELECT seq, -seq FROM seq_1_to_8');
    // The other partition shows a later time than the one that changes.
    await sleep(1_500);
    await writer.query(`UPDATE ${UNTIMED} SET n = 0 WHERE id = 2000`);
    await next();
    await rest(writer);
    for (let count = 0; count < 2; count += 1) assert.equal(await next(), false);
    await writer.query(change);
    assert.equal(await next(), true);
  });
}

test('rows that come with the files of another table are sent, without a log', async (t) => {
  const database = await createDatabase('imported');
  const { writer, next } = await startUntimed(t, database, 'ENGINE = InnoDB');
  await writer.query(`CREATE TABLE spare LIKE ${UNTIMED}`);
  await writer.query(`INSERT INTO spare SELECT id, -id FROM ${UNTIMED}`);
  await writer.query(`UPDATE ${UNTIMED} SET n = 0 WHERE id = 2000`);
  await next();
  await rest(writer);
  for (let count = 0; count < 2; count += 1) assert.equal(await next(), false);
  const [place] = await rows(writer, 'SELECT @@datadir AS directory');
  const fileOf = (table: string, end: string) => join(String(place!['directory']), database.name, `${table}.${end}`);
  await writer.query(`ALTER TABLE ${UNTIMED} DISCARD TABLESPACE`);
  await writer.query('FLUSH TABLES spare FOR EXPORT');
  for (const end of ['ibd', 'cfg']) copyFileSync(fileOf('spare', end), fileOf(UNTIMED, end));
  await writer.query('UNLOCK TABLES');
  await writer.query(`ALTER TABLE ${UNTIMED} IMPORT TABLESPACE`);
  assert.equal(await next(), true);
});

test('rows of a table that left the cache of its server before and after a change are sent, without a log', async (t) => {
  const server = await startOwnServer([
    `--table-definition-cache=${CACHED_TABLES}`,
    `--table-open-cache=${CACHED_TABLES}`
  ]);
  const { writer, next } = await startUntimed(t, await createDatabase('cached', server.root), 'ENGINE = InnoDB');
  const others = await createDatabase('others', server.root);
  for (let at = 0; at < 2 * CACHED_TABLES; at += 1)
    await writer.query(`CREATE TABLE ${others.name}.t${at} (id INT PRIMARY KEY)`);
  const leave = () => eventually('the table left the cache', () => hasLeft(writer, others.name));
  await rest(writer);
  await leave();
  for (let count = 0; count < 2; count += 1) assert.equal(await next(), false);
  await writer.query(`UPDATE ${UNTIMED} SET n = -1 WHERE id = 7`);
  await leave();
  assert.equal(await next(), true);
});

/** Opens all tables of another database. @returns whether the server has forgotten when this one's table was changed */
async function hasLeft(writer: Connection, others: string): Promise<boolean> {
  const timesOf = 'SELECT COUNT(UPDATE_TIME) AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = ';
  await writer.query(`${timesOf}?`, [others]);
  // Who asks sooner keeps it in the cache.
  await sleep(8_000);
  const [row] = await rows(writer, `${timesOf}DATABASE() AND TABLE_NAME = '${UNTIMED}'`);
  return Number(row!['n']) === 0;
}

/** Makes a database with one table besides its blocks. `next` writes a block, and says whether its message names the table. */
async function startUntimed(t: TestContext, database: DatabaseCoordinates, definition: string) {
  const open = async () => {
    const connection = await connect(database, { finderKey: TEST_KEY, several: true });
    t.after(() => connection.destroy());
    return connection;
  };
  const [writer, reader] = [await open(), await open()];
  for (const statement of [
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)',
    "INSERT INTO blocks (block_index, block_hash) VALUES (1, 'h1')",
    `CREATE TABLE ${UNTIMED} (id INT PRIMARY KEY, n INT NOT NULL) ${definition}`,
    `INSERT INTO ${UNTIMED} SELECT seq, seq FROM seq_1_to_${ROWS}`
  ])
    await writer.query(statement);
  const local = ['spare'];
  const layout = await readLayout(reader, 'decoder', local);
  const memory = await inSnapshot(reader, async () =>
    memoryAtTip(reader, layout, await readTip(reader, layout.heads!))
  );
  let height = 1;
  const next = async (): Promise<boolean> => {
    height += 1;
    await writer.query(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height}')`);
    let isNamed = false;
    for await (const block of readGroup(reader, 'decoder', local, memory)) {
      isNamed = tellsOf(blockMessage(ID, block), UNTIMED);
      memory.accept(block);
    }
    return isNamed;
  };
  return { writer, next };
}
