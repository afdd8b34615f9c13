import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, quoteName } from '../../src/db/connection.ts';
import {
  digestPlans,
  dividable,
  readDigests,
  readRangeRows,
  readRanges,
  sumOf,
  wholeTable
} from '../../src/db/digest.ts';
import { readLateScopes } from '../../src/db/scoped-window.ts';
import { readLayout } from '../../src/db/source-layout.ts';
import { hasCode } from '../../src/errors.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/database.ts';
import { createDecoder } from '../support/generated-decoder.ts';
import { createIndexer } from '../support/generated-indexer.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';

const SIZE = { seed: 'digest', blocks: 30, rows: 3_000 };
const HEIGHT = 129;

/** A database and an equal one: every table made by the same statement, filled in the opposite order. */
async function createTwins(dbType: DbType): Promise<[DatabaseCoordinates, DatabaseCoordinates]> {
  const first = await createDatabase('digest');
  await (dbType === 'indexer' ? createIndexer : createDecoder)(first, SIZE);
  await sql(
    first,
    'CREATE TABLE keyless (a INT NULL, b VARCHAR(20) CHARACTER SET latin1 NULL, c VARBINARY(4) NULL, d DOUBLE NULL)',
    "INSERT INTO keyless VALUES (1, 'é', x'00ff', 0.1), (1, 'é', x'00ff', 0.1), (NULL, 'NULL', NULL, -0.5), (NULL, NULL, '', NULL)"
  );
  const second = await createDatabase('digest');
  const connection = await connect(second);
  const layout = await inDatabase(first, (source) => readLayout(source, dbType));
  await connection.query('SET SESSION foreign_key_checks = 0');
  for (const { name, storedColumns, columns } of layout.plans) {
    const list = storedColumns.map((column) => quoteName(column.name)).join(', ');
    await connection.query(`CREATE TABLE ${quoteName(name)} LIKE ${quoteName(first.name)}.${quoteName(name)}`);
    await connection.query(
      `INSERT INTO ${quoteName(name)} (${list}) SELECT ${list} FROM ${quoteName(first.name)}.${quoteName(name)} ORDER BY ${quoteName(columns[0]!.name)} DESC`
    );
  }
  connection.destroy();
  return [first, second];
}

async function inDatabase<T>(to: DatabaseCoordinates, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await connect(to);
  try {
    return await work(connection);
  } finally {
    connection.destroy();
  }
}

async function digestsOf(to: DatabaseCoordinates, dbType: DbType) {
  return inDatabase(to, async (connection) => readDigests(connection, await readLayout(connection, dbType), HEIGHT));
}

/** Tables whose figures differ, with the number of ranges that do. */
async function differing(twins: readonly DatabaseCoordinates[], dbType: DbType): Promise<Record<string, number>> {
  const [left, right] = await Promise.all(twins.map((to) => digestsOf(to, dbType)));
  const found: Record<string, number> = {};
  for (const table of left!) {
    const other = right!.find((each) => each.table === table.table)!;
    if (table.digest === other.digest && table.rows === other.rows) continue;
    const text = (ranges: typeof table.ranges) => new Set(ranges.map((range) => JSON.stringify(range)));
    found[table.table] = text(table.ranges).symmetricDifference(text(other.ranges)).size;
  }
  return found;
}

for (const dbType of ['indexer', 'decoder'] as const) {
  test(`${dbType}: equal databases have equal digests, whatever the order of their rows`, async () => {
    const twins = await createTwins(dbType);
    assert.deepEqual(await differing(twins, dbType), {});
    const tables = await digestsOf(twins[0], dbType);
    assert.ok(tables.length > 4);
    for (const { table, rows, digest, ranges } of tables) {
      const [counted] = await sql(twins[0], `SELECT COUNT(*) AS n FROM ${table}`);
      assert.equal(rows, Number(counted?.['n']), table);
      assert.deepEqual(sumOf(ranges), { rows, digest }, `${table}: ranges add up to the table`);
    }
  });

  test(`${dbType}: ranges within a range add up to it, down to the rows`, async () => {
    const [first] = await createTwins(dbType);
    await inDatabase(first, async (connection) => {
      const layout = await readLayout(connection, dbType);
      for (const plan of digestPlans(layout)) {
        const whole = wholeTable(plan, HEIGHT);
        const all = await readRanges(connection, layout.tables, plan, whole);
        const half = { ...whole, to: Math.floor((whole.from + whole.to) / 2) };
        const parts = [half, { ...whole, from: half.to + 1 }];
        const sums = [];
        for (const part of parts) {
          const ranges = await readRanges(connection, layout.tables, plan, part);
          const { rows, digest } = await readRangeRows(connection, layout.tables, plan, part);
          assert.deepEqual(sumOf(ranges), { rows: rows.length, digest }, plan.name);
          sums.push({ from: 0, to: 0, ...sumOf(ranges) });
        }
        assert.deepEqual(sumOf(sums), sumOf(all), plan.name);
        const largest = all.toSorted((a, b) => b.rows - a.rows)[0];
        const within = largest && dividable(plan, { ...largest, block: null });
        if (!within || plan.class !== 'scoped') continue;
        const deeper = await readRanges(connection, layout.tables, plan, within);
        assert.deepEqual(sumOf(deeper), { rows: largest.rows, digest: largest.digest }, `${plan.name} within a block`);
      }
    });
  });
}

const PLANTED: readonly [dbType: DbType, what: string, statement: string, table: string][] = [
  ['indexer', 'a changed value of a scoped row', 'UPDATE sends SET amount = amount + 1 LIMIT 1', 'sends'],
  ['indexer', 'a missing scoped row', 'DELETE FROM credits LIMIT 1', 'credits'],
  ['indexer', 'a changed mutable row', 'UPDATE tokens SET supply = supply + 1 LIMIT 1', 'tokens'],
  ['indexer', 'a changed lookup', "UPDATE index_addresses SET address = 'x' LIMIT 1", 'index_addresses'],
  ['indexer', 'a changed derived row', 'UPDATE balances SET amount = amount + 1 LIMIT 1', 'balances'],
  ['decoder', 'one of two equal rows is gone', 'DELETE FROM keyless WHERE a = 1 LIMIT 1', 'keyless'],
  ['decoder', 'NULL that became empty', "UPDATE keyless SET c = '' WHERE b = 'NULL'", 'keyless'],
  ['decoder', 'a text that is NULL became empty', "UPDATE keyless SET b = '' WHERE b IS NULL", 'keyless'],
  ['decoder', 'the text NULL that became NULL', "UPDATE keyless SET b = NULL WHERE b = 'NULL'", 'keyless'],
  [
    'decoder',
    'a number in its last digit',
    'UPDATE keyless SET d = 0.10000000000000002 WHERE a = 1 LIMIT 1',
    'keyless'
  ],
  ['decoder', 'a third equal row', 'INSERT INTO keyless SELECT * FROM keyless WHERE a = 1 LIMIT 1', 'keyless'],
  [
    'decoder',
    'letters of another case',
    'UPDATE index_transactions SET hash = UPPER(hash) LIMIT 3',
    'index_transactions'
  ]
];

for (const dbType of ['indexer', 'decoder'] as const) {
  test(`${dbType}: every planted difference is seen, in its table alone`, async () => {
    const twins = await createTwins(dbType);
    for (const [, what, statement, table] of PLANTED.filter(([type]) => type === dbType)) {
      const connection = await connect(twins[1]);
      await connection.query('START TRANSACTION');
      const [result] = await connection.query(statement);
      assert.ok((result as { affectedRows: number }).affectedRows > 0, what);
      const other = await readDigests(connection, await readLayout(connection, dbType), HEIGHT);
      connection.destroy();
      const own = await digestsOf(twins[0], dbType);
      const names = own.filter((each, at) => each.digest !== other[at]!.digest).map((each) => each.table);
      assert.deepEqual(names, [table], what);
    }
  });
}

test('rows that swap a value never leave the digest as it was', async () => {
  const to = await createDatabase('digest');
  await sql(
    to,
    'CREATE TABLE pairs (k INT PRIMARY KEY, v INT NOT NULL, t CHAR(4) NOT NULL)',
    "INSERT INTO pairs SELECT seq, seq, LPAD(seq, 4, '0') FROM seq_1_to_400"
  );
  await inDatabase(to, async (connection) => {
    const layout = await readLayout(connection, 'decoder');
    const plan = digestPlans(layout).find(({ name }) => name === 'pairs')!;
    const digest = async () =>
      sumOf(await readRanges(connection, layout.tables, plan, wholeTable(plan, HEIGHT))).digest;
    const seen = new Set([await digest()]);
    for (let a = 1; a <= 200; a += 1) {
      for (const column of ['v', 't']) {
        const old = { v: 'k', t: "LPAD(k, 4, '0')" }[column];
        await connection.query(
          `UPDATE pairs SET ${column} = ${old!.replace('k', `${2 * a + 200} - k`)} WHERE k IN (${a}, ${a + 200})`
        );
        seen.add(await digest());
      }
    }
    assert.equal(seen.size, 401);
  });
});

test('columns may be called as the parts of a digest are', async () => {
  const to = await createDatabase('digest');
  await sql(
    to,
    'CREATE TABLE named (platform_hash INT PRIMARY KEY, slot INT, n INT, digest INT, r INT)',
    'INSERT INTO named SELECT seq, 1, 1, 1, 1 FROM seq_1_to_50'
  );
  await inDatabase(to, async (connection) => {
    const layout = await readLayout(connection, 'decoder');
    const plan = digestPlans(layout).find(({ name }) => name === 'named')!;
    const whole = wholeTable(plan, HEIGHT);
    assert.ok((await readRanges(connection, layout.tables, plan, whole)).length > 40);
    const { rows } = await readRangeRows(connection, layout.tables, plan, whole);
    assert.deepEqual(Object.keys(rows[0]!), ['platform_hash', 'slot', 'n', 'digest', 'r']);
  });
});

test('bytes that are no character, and the last of a long text, are seen', async () => {
  const to = await createDatabase('digest');
  const digest = () =>
    inDatabase(to, async (connection) => {
      const [table] = await readDigests(connection, await readLayout(connection, 'decoder'), HEIGHT);
      return table!.digest;
    });
  await sql(
    to,
    'CREATE TABLE texts (id INT PRIMARY KEY, old VARCHAR(9) CHARACTER SET cp1250, long_text MEDIUMTEXT, long_bytes BLOB)',
    "INSERT INTO texts VALUES (1, '?', REPEAT('é', 100000), REPEAT('b', 60000))"
  );
  const seen = new Set([await digest()]);
  for (const change of [
    "old = CAST(x'81' AS CHAR CHARACTER SET cp1250)",
    "old = CONVERT(x'81' USING cp1250)",
    "long_text = CONCAT(REPEAT('é', 99999), 'e')",
    "long_bytes = CONCAT(REPEAT('b', 59999), 'c')",
    'long_text = NULL',
    "long_text = ''"
  ])
    await sql(to, `UPDATE texts SET ${change}`).then(async () => seen.add(await digest()));
  const [row] = await sql(to, 'SELECT HEX(old) AS bytes FROM texts');
  assert.equal(row?.['bytes'], '81');
  assert.equal(seen.size, 6);
});

test('a row whose parent is not there is seen; it has no block', async () => {
  const twins = await createTwins('indexer');
  await sql(twins[1], 'SET foreign_key_checks = 0', 'UPDATE credits SET action_index = 4000000000 LIMIT 1');
  const found = await differing(twins, 'indexer');
  assert.deepEqual(Object.keys(found), ['credits']);
  const credits = (await digestsOf(twins[1], 'indexer')).find(({ table }) => table === 'credits')!;
  assert.equal(credits.ranges[0]?.from, -1);
  assert.equal(credits.ranges[0]?.rows, 1);
});

test('rows of numbers below 0, which are no blocks, are seen with those that have none; no message can name them', async () => {
  const to = await createDatabase('digest');
  await sql(
    to,
    'CREATE TABLE marked (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL)',
    'INSERT INTO marked (block_index) VALUES (-7), (-1), (3), (3)'
  );
  await inDatabase(to, async (connection) => {
    const layout = await readLayout(connection, 'decoder');
    const plan = digestPlans(layout).find(({ name }) => name === 'marked')!;
    const ranges = await readRanges(connection, layout.tables, plan, wholeTable(plan, HEIGHT));
    assert.deepEqual(
      ranges.map(({ from, rows }) => [from, rows]),
      [
        [-1, 2],
        [3, 2]
      ]
    );
    const { rows } = await readRangeRows(connection, layout.tables, plan, { from: -1, to: -1, block: null });
    assert.deepEqual(rows.map((row) => row['block_index']).sort(), [-1, -7]);
    const memory = { signature: '', from: 10, figures: new Map(), lastId: 0 };
    assert.deepEqual(await readLateScopes(connection, layout, plan, memory), [3]);
  });
});

test('a range that is too large for one answer is refused, and can be divided', async () => {
  const to = await createDatabase('digest');
  await createDecoder(to, SIZE);
  await sql(to, 'CREATE TABLE many (id INT PRIMARY KEY)', 'INSERT INTO many SELECT seq FROM seq_1_to_20001');
  await inDatabase(to, async (connection) => {
    const layout = await readLayout(connection, 'decoder');
    const plan = digestPlans(layout).find(({ name }) => name === 'many')!;
    const ranges = await readRanges(connection, layout.tables, plan, wholeTable(plan, HEIGHT));
    assert.ok(ranges.length > 3_900, `${ranges.length} ranges`);
    await assert.rejects(readRangeRows(connection, layout.tables, plan, wholeTable(plan, HEIGHT)), (error) =>
      hasCode(error, 'RANGE_TOO_LARGE')
    );
  });
});
