import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import type { BlockMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, sql } from '../../../support/sql.ts';
import { createComparedPair } from '../../../support/sync/compared-pair.ts';
import { bothCrcs, sameChecksum } from '../../../support/sync/crc-collision.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

/*
 * What an attacker can write who knows this program: values that weaker checksums take for equal. A change from one to the other
 * must be broadcast, and be found by comparison where it was not.
 */

/** Wang's two blocks of one MD5: https://www.mscs.dal.ca/~selinger/md5collision/ */
const MD5_BLOCKS = [
  'd131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5bd8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70',
  'd131dd02c5e6eec4693d9a0698aff95c2fcab50712467eab4004583eb8fb7f8955ad340609f4b30283e4888325f1415a085125e8f7cdc99fd91dbd7280373c5bd8823e3156348f5bae6dacd436c919c6dd53e23487da03fd02396306d248cda0e99f33420f577ee8ce54b67080280d1ec69821bcb6a8839396f965ab6ff72a70'
];
const LETTERS = 'thequickbrownfoxjumpsoverthelazydogwhilenobodylooksatthecheckssums';

const text = (value: string) => `'${value}'`;
const blob = (hex: string) => `CONCAT(x'${hex}', REPEAT('z', 2000))`;
const TWINS: readonly [what: string, type: string, a: string, b: string][] = [
  [
    'letters whose case is free, with one CRC-32 and one CRC-32C',
    'VARCHAR(80) COLLATE utf8mb4_bin',
    ...(sameChecksum(LETTERS, bothCrcs, 2).map(text) as [string, string])
  ],
  ['long values of one MD5', 'BLOB', ...(MD5_BLOCKS.map(blob) as [string, string])],
  [
    'what was issued, and what is left of it',
    'DECIMAL(38,18)',
    '512532.041452535333633753',
    '131223.340512167670460573'
  ]
];

test('the twins are what they should be', () => {
  for (const [what, type, a, b] of TWINS) {
    assert.notEqual(a, b, what);
    if (type !== 'BLOB') assert.equal(bothCrcs(a.replaceAll("'", '')), bothCrcs(b.replaceAll("'", '')), what);
  }
  const [first, second] = MD5_BLOCKS.map((hex) => createHash('md5').update(Buffer.from(hex, 'hex')).digest('hex'));
  assert.equal(first, second);
});

test('a change from one twin to the other is broadcast with the next block, in tables of every kind', async (t) => {
  const database = await createDatabase('collisions');
  await createIndexer(database, { seed: 'c', blocks: 5, rows: 200 });
  const columns = TWINS.map(([, type], at) => `v${at} ${type} NULL`).join(', ');
  const values = TWINS.map(([, , a]) => a).join(', ');
  for (const [table, key] of [
    ['keyed', 'PRIMARY KEY (n)'],
    ['keyless', 'KEY (n)']
  ])
    await sql(
      database,
      `CREATE TABLE ${table} (n INT NOT NULL, ${columns}, ${key})`,
      `INSERT INTO ${table} VALUES (1, ${values})`
    );
  await sql(
    database,
    `CREATE TABLE placed (block_index INT NOT NULL, ${columns})`,
    `INSERT INTO placed VALUES (103, ${values})`
  );
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(104);
  for (const [at, [what, , , b]] of TWINS.entries()) {
    for (const table of ['keyed', 'keyless', 'placed']) await sql(database, `UPDATE ${table} SET v${at} = ${b}`);
    await source.reaches(await addEmptyBlock(database));
    const { updated_rows, ranges } = source.messages.at(-1) as BlockMessage;
    for (const table of ['keyed', 'keyless']) assert.equal(updated_rows?.[table]?.length, 1, `${what}: ${table}`);
    assert.deepEqual(ranges?.['placed']?.spans, [[103, 103]], `${what}: placed`);
  }
});

for (const [what, type, a, b] of TWINS)
  test(`a difference between twins is found by comparison and repaired: ${what}`, async () => {
    const pair = await createComparedPair([
      `CREATE TABLE twins (n INT NOT NULL PRIMARY KEY, v ${type} NULL)`,
      `INSERT INTO twins VALUES (1, ${a}), (2, ${a})`
    ]);
    assert.equal((await pair.compare()).kind, 'equal');
    await pair.writer.query(`UPDATE twins SET v = ${b} WHERE n = 2`);
    const found = await pair.compare();
    await pair.mend(pair.writer, found);
    assert.ok(found.kind === 'different');
    assert.deepEqual(
      found.tables.map(({ table, surplus, missing }) => [table, surplus.length, missing.length]),
      [['twins', 1, 1]]
    );
    assert.equal((await pair.compare()).kind, 'equal');
    pair.writer.destroy();
  });

test('more names of one CRC-32 than one answer may hold: a difference among them is found and repaired', async () => {
  const names = sameChecksum(LETTERS.slice(0, 50), (name) => BigInt(crc32(name)), 20_001);
  assert.equal(new Set(names).size, 20_001);
  const pair = await createComparedPair([
    'CREATE TABLE named (name VARCHAR(80) COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, v INT NOT NULL)',
    `INSERT INTO named VALUES ${names.map((name) => `('${name}', 1)`).join(', ')}`
  ]);
  await pair.writer.query(`UPDATE named SET v = 2 WHERE name = '${names[777]}'`);
  const found = await pair.compare();
  await pair.mend(pair.writer, found);
  assert.ok(found.kind === 'different');
  assert.deepEqual([found.tables[0]?.surplus.length, found.tables[0]?.missing.length], [1, 1]);
  assert.equal((await pair.compare()).kind, 'equal');
  pair.writer.destroy();
});
