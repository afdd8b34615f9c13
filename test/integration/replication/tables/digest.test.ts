import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type Connection, connect, quoteName } from '../../../../src/db/connection.ts';
import { hasCode } from '../../../../src/errors.ts';
import {
  digestPlans,
  dividable,
  readDigests,
  readRangeRows,
  readRanges,
  sumOf,
  wholeTable
} from '../../../../src/replication/tables/digest.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates, DbType } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { createDecoder } from '../../../support/sync/generated-decoder.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';

const SIZE = { seed: 'digest', blocks: 30, rows: 3_000 };
const HEIGHT = 129;
const KEY = '0123456789abcdef0123456789abcdef';

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
  return inDatabase(to, async (connection) =>
    readDigests(connection, await readLayout(connection, dbType), HEIGHT, KEY)
  );
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
      for (const plan of digestPlans(layout, HEIGHT)) {
        const whole = wholeTable(plan);
        const all = await readRanges(connection, layout.tables, plan, whole, KEY);
        const half = { ...whole, to: Math.floor((whole.from + whole.to) / 2) };
        const parts = [half, { ...whole, from: half.to + 1 }];
        const sums = [];
        for (const part of parts) {
          const ranges = await readRanges(connection, layout.tables, plan, part, KEY);
          const { rows, digest } = await readRangeRows(connection, layout.tables, plan, part, KEY);
          assert.deepEqual(sumOf(ranges), { rows: rows.length, digest }, plan.name);
          sums.push({ from: 0, to: 0, ...sumOf(ranges) });
        }
        assert.deepEqual(sumOf(sums), sumOf(all), plan.name);
        const largest = all.toSorted((a, b) => b.rows - a.rows)[0];
        const within = largest && dividable(plan, { ...largest, block: null });
        if (!within || plan.class !== 'scoped') continue;
        const deeper = await readRanges(connection, layout.tables, plan, within, KEY);
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
      const other = await readDigests(connection, await readLayout(connection, dbType), HEIGHT, KEY);
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
    const plan = digestPlans(layout, HEIGHT).find(({ name }) => name === 'pairs')!;
    const digest = async () => sumOf(await readRanges(connection, layout.tables, plan, wholeTable(plan), KEY)).digest;
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

test('the sums are those of the bytes that are written down: the key first, then the parts by name', async () => {
  const to = await createDatabase('digest');
  const long = 'y'.repeat(3_000);
  await sql(
    to,
    'CREATE TABLE vectors (k INT PRIMARY KEY, t VARCHAR(9) NULL, a TEXT NULL)',
    `INSERT INTO vectors VALUES (1, 'é', NULL), (2, NULL, '${long}')`
  );
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const texts = [`${KEY}|n|v1|t1:é`, `${KEY}|s3000:${sha256(long)}|v2|n`];
  const words = texts.map((text) => BigInt(`0x${sha256(text).slice(0, 16)}`));
  await inDatabase(to, async (connection) => {
    const layout = await readLayout(connection, 'decoder');
    const plan = digestPlans(layout, HEIGHT).find(({ name }) => name === 'vectors')!;
    const whole = wholeTable(plan);
    const width = 2 ** 20;
    const expected = [1, 2]
      .map((k, at) => {
        const from = Math.floor(Number.parseInt(sha256(`${KEY}|p|v${k}`).slice(0, 8), 16) / width) * width;
        return { from, to: from + width - 1, rows: 1, digest: String(words[at]) };
      })
      .sort((a, b) => a.from - b.from);
    assert.deepEqual(await readRanges(connection, layout.tables, plan, whole, KEY), expected);
    const { from } = expected[0]!;
    const part = { from, to: from + width - 1, block: null };
    assert.deepEqual(sumOf(await readRanges(connection, layout.tables, plan, part, KEY)), sumOf([expected[0]!]));
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
    const plan = digestPlans(layout, HEIGHT).find(({ name }) => name === 'named')!;
    const whole = wholeTable(plan);
    assert.ok((await readRanges(connection, layout.tables, plan, whole, KEY)).length > 40);
    const { rows } = await readRangeRows(connection, layout.tables, plan, whole, KEY);
    assert.deepEqual(Object.keys(rows[0]!), ['platform_hash', 'slot', 'n', 'digest', 'r']);
  });
});

test('bytes that are no character, and the last of a long text, are seen', async () => {
  const to = await createDatabase('digest');
  const digest = () =>
    inDatabase(to, async (connection) => {
      const [table] = await readDigests(connection, await readLayout(connection, 'decoder'), HEIGHT, KEY);
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

test('rows without a block, and of numbers below 0, are seen together, and so are those ahead of the tip', async () => {
  const to = await createDatabase('digest');
  await sql(
    to,
    'CREATE TABLE marked (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NULL, KEY (block_index))',
    `INSERT INTO marked (block_index) VALUES (-7), (-1), (NULL), (3), (3), (${HEIGHT + 1}), (${HEIGHT + 9})`
  );
  await inDatabase(to, async (connection) => {
    const layout = await readLayout(connection, 'decoder');
    const plan = digestPlans(layout, HEIGHT).find(({ name }) => name === 'marked')!;
    const ranges = await readRanges(connection, layout.tables, plan, wholeTable(plan), KEY);
    assert.deepEqual(
      ranges.map(({ from, rows }) => [from, rows]),
      [
        [-1, 3],
        [3, 2],
        [HEIGHT + 1, 2]
      ]
    );
    const { rows } = await readRangeRows(connection, layout.tables, plan, { from: -1, to: -1, block: null }, KEY);
    assert.deepEqual(rows.map((row) => String(row['block_index'])).sort(), ['-1', '-7', 'null']);
    for (const [at, count] of [
      [-1, 3],
      [HEIGHT + 1, 2]
    ] as const) {
      const within = dividable(plan, { from: at, to: at, block: null })!;
      assert.equal(within.block, at);
      assert.equal(sumOf(await readRanges(connection, layout.tables, plan, within, KEY)).rows, count);
    }
  });
});

test('a range that is too large for one answer is refused, and can be divided', async () => {
  const to = await createDatabase('digest');
  await createDecoder(to, SIZE);
  await sql(to, 'CREATE TABLE many (id INT PRIMARY KEY)', 'INSERT INTO many SELECT seq FROM seq_1_to_20001');
  await inDatabase(to, async (connection) => {
    const layout = await readLayout(connection, 'decoder');
    const plan = digestPlans(layout, HEIGHT).find(({ name }) => name === 'many')!;
    const ranges = await readRanges(connection, layout.tables, plan, wholeTable(plan), KEY);
    assert.ok(ranges.length > 3_900, `${ranges.length} ranges`);
    await assert.rejects(readRangeRows(connection, layout.tables, plan, wholeTable(plan), KEY), (error) =>
      hasCode(error, 'RANGE_TOO_LARGE')
    );
  });
});
