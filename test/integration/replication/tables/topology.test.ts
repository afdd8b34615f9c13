import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../../src/db/connection.ts';
import { printTable } from '../../../../src/replication/tables/ddl.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { dependencyOrder, readTopology } from '../../../../src/replication/tables/topology.ts';
import HINTS from '../../../../src/replication/tables/topology-hints.json' with { type: 'json' };
import { createDatabase } from '../../../support/mariadb.ts';
import { createDecoder } from '../../../support/sync/generated-decoder.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';

async function open(...statements: string[]) {
  const database = await createDatabase('topology');
  const connection = await connect(database);
  for (const statement of statements) await connection.query(statement);
  return { database, connection };
}

test('columns, keys and foreign keys are described as MariaDB has them', async (t) => {
  const { connection } = await open(
    'CREATE TABLE parent (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) COLLATE utf8mb4_bin NOT NULL, UNIQUE (name(5) DESC))',
    `CREATE TABLE child (parent_id INT UNSIGNED NULL, doc JSON NULL, at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
      twice INT AS (parent_id * 2) STORED, FOREIGN KEY fk (parent_id) REFERENCES parent (id) ON DELETE CASCADE)`,
    'CREATE VIEW seen AS SELECT 1'
  );
  t.after(() => connection.destroy());
  const { tables } = await readTopology(connection);
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['child', 'parent'],
    'views are no tables'
  );
  const [child, parent] = tables;
  const column = (name: string) => child?.columns.find((candidate) => candidate.name === name);
  assert.equal(parent?.columns[0]?.autoIncrement, true);
  assert.equal(parent?.columns[1]?.collation, 'utf8mb4_bin');
  assert.deepEqual(parent?.keys.find(({ name }) => name !== 'PRIMARY')?.columns, [
    { name: 'name', prefix: 5, descending: true }
  ]);
  assert.equal(column('doc')?.json, true);
  assert.equal(column('at')?.onUpdate, 'current_timestamp(3)');
  assert.equal(column('twice')?.generated?.stored, true);
  assert.deepEqual(child?.foreignKeys[0]?.referencedColumns, ['id']);
  assert.equal(child?.foreignKeys[0]?.onDelete, 'CASCADE');
});

test('an account that may only read sees the same keys and their actions', async (t) => {
  const key = (name: string, actions: string) =>
    `CREATE TABLE ${name} (id INT PRIMARY KEY, a INT, CONSTRAINT \`of ${name}, (x)\` FOREIGN KEY (a) REFERENCES parent (id) ${actions}) COMMENT 'ON DELETE CASCADE'`;
  const { connection, database } = await open(
    'CREATE TABLE parent (id INT PRIMARY KEY)',
    key('plain', ''),
    key('child', 'ON DELETE CASCADE'),
    key('two', 'ON DELETE SET NULL ON UPDATE CASCADE'),
    key('update_only', 'ON UPDATE CASCADE'),
    key('neither', 'ON DELETE NO ACTION ON UPDATE RESTRICT'),
    'ALTER TABLE two ADD COLUMN b INT, ADD CONSTRAINT second FOREIGN KEY (b) REFERENCES plain (id) ON DELETE CASCADE'
  );
  t.after(() => connection.destroy());
  const reader = `reader_${database.name.slice(-10)}`;
  await connection.query(`CREATE USER '${reader}'@'%' IDENTIFIED BY 'x'`);
  await connection.query(`GRANT SELECT ON \`${database.name}\`.* TO '${reader}'@'%'`);
  const asReader = await connect({ ...database, user: reader, pass: 'x' });
  t.after(() => asReader.destroy());
  const [asSeen, expected] = [await readTopology(asReader), await readTopology(connection)];
  assert.equal(expected.tables.flatMap(({ foreignKeys }) => foreignKeys).length, 6);
  assert.deepEqual(asSeen, expected);
});

test('tables whose names differ by case alone are two, each with its own columns, keys and references', async (t) => {
  const { connection } = await open(
    'CREATE TABLE Twin (a INT PRIMARY KEY, UNIQUE KEY only_here (a))',
    'CREATE TABLE twin (b INT PRIMARY KEY, c INT NULL)',
    'CREATE TABLE hang (c INT, CONSTRAINT low FOREIGN KEY (c) REFERENCES twin (b) ON DELETE CASCADE)',
    'CREATE TABLE Hang (c INT, CONSTRAINT high FOREIGN KEY (c) REFERENCES Twin (a))'
  );
  t.after(() => connection.destroy());
  const { tables } = await readTopology(connection);
  assert.deepEqual(
    tables.map(({ name, columns, keys }) => [name, columns.map((column) => column.name).join(), keys.length]),
    [
      ['Hang', 'c', 1],
      ['Twin', 'a', 2],
      ['hang', 'c', 1],
      ['twin', 'b,c', 1]
    ]
  );
  const references = tables.flatMap(({ foreignKeys }) =>
    foreignKeys.map(({ referencedTable, onDelete }) => `${referencedTable} ${onDelete}`)
  );
  assert.deepEqual(references, ['Twin RESTRICT', 'twin CASCADE']);
});

test('system-versioned tables travel as they are now, sequences not at all', async (t) => {
  const { connection } = await open(
    'CREATE TABLE implied (a INT PRIMARY KEY, b INT) WITH SYSTEM VERSIONING',
    `CREATE TABLE stated (a INT PRIMARY KEY, since TIMESTAMP(6) GENERATED ALWAYS AS ROW START, until TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
      PERIOD FOR SYSTEM_TIME (since, until)) WITH SYSTEM VERSIONING`,
    'CREATE SEQUENCE counter'
  );
  t.after(() => connection.destroy());
  const { tables } = await readTopology(connection);
  assert.deepEqual(
    tables.map(({ name, columns, keys }) => [
      name,
      columns.map((column) => column.name).join(),
      keys.map((key) => key.columns.map((column) => column.name).join())
    ]),
    [
      ['implied', 'a,b', ['a']],
      ['stated', 'a', ['a']]
    ]
  );
});

test('a column that is stored compressed is one of its type, and can be made', async (t) => {
  const { connection } = await open(
    'CREATE TABLE packed (id INT PRIMARY KEY, v TEXT COMPRESSED NOT NULL, b BLOB COMPRESSED NULL)'
  );
  t.after(() => connection.destroy());
  const { tables } = await readTopology(connection);
  assert.deepEqual(
    tables[0]?.columns.map(({ type }) => type),
    ['int(11)', 'text', 'blob']
  );
  assert.match(printTable(tables[0]!).create, /`v` text CHARACTER SET/);
});

test('the fingerprint changes with a column or key, not with rows or sync-owned tables', async (t) => {
  const { connection } = await open('CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)');
  t.after(() => connection.destroy());
  const fingerprint = async () => (await readLayout(connection, 'indexer')).fingerprint;
  const first = await fingerprint();
  await connection.query('INSERT INTO a (v) VALUES (1), (2)');
  await connection.query('CREATE TABLE sync_meta (id INT PRIMARY KEY)');
  assert.equal(await fingerprint(), first);
  await connection.query('ALTER TABLE a ADD KEY (v)');
  const second = await fingerprint();
  assert.notEqual(second, first);
  await connection.query('ALTER TABLE a MODIFY v BIGINT NOT NULL');
  assert.notEqual(await fingerprint(), second);
});

test('the fingerprint names which tables travel: one that the operator leaves out changes it, its columns do not', async (t) => {
  const { connection } = await open(
    'CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)',
    'CREATE TABLE b (id INT PRIMARY KEY)'
  );
  t.after(() => connection.destroy());
  const fingerprint = async (local: readonly string[]) => (await readLayout(connection, 'indexer', local)).fingerprint;
  const without = await fingerprint(['b']);
  assert.notEqual(without, await fingerprint([]));
  await connection.query('ALTER TABLE b ADD COLUMN v INT NULL');
  assert.equal(await fingerprint(['b']), without);
});

test('tables travel parents first: lookups, blocks, transactions, actions, the rest, balances and pubkeys last', () => {
  const names = [
    'pubkeys',
    'zebra',
    'balances',
    'actions',
    'apple',
    'transactions',
    'index_b',
    'blocks',
    'index_a',
    'sync_meta'
  ];
  const tables = names.map((name) => ({
    name,
    engine: 'InnoDB',
    columns: [],
    keys: [],
    foreignKeys:
      name === 'apple'
        ? [
            {
              name: 'fk',
              columns: ['z'],
              referencedTable: 'zebra',
              referencedColumns: ['z'],
              onDelete: '',
              onUpdate: ''
            }
          ]
        : []
  }));
  assert.deepEqual(
    dependencyOrder(tables, tables).map(({ name }) => name),
    ['index_a', 'index_b', 'blocks', 'transactions', 'actions', 'zebra', 'apple', 'balances', 'sync_meta', 'pubkeys']
  );
});

test('every table of generated databases has a class, and each hint names its reason', async (t) => {
  for (const dbType of ['indexer', 'decoder'] as const) {
    const { database, connection } = await open();
    t.after(() => connection.destroy());
    const size = { seed: 'a', blocks: 2, rows: 20 };
    await (dbType === 'indexer' ? createIndexer(database, size) : createDecoder(database, size));
    const { plans } = await readLayout(connection, dbType);
    const classOf = (name: string) => plans.find((plan) => plan.name === name)?.class;
    assert.equal(classOf('blocks'), 'scoped');
    assert.equal(classOf('index_transactions'), 'lookup');
    if (dbType === 'decoder') {
      assert.equal(classOf('mempool_transactions'), 'local');
      assert.equal(classOf('dispensers'), 'snapshotOnly');
    } else assert.equal(classOf('contract_emissions'), 'mutable', 'its action_index may be NULL');
    for (const plan of plans.filter(({ class: kind }) => kind === 'derived')) assert.ok(plan.identity);
  }
  for (const { table, reason, class: kind, touched, stamped, late } of HINTS)
    assert.ok(reason.length > 5 && (kind ?? touched ?? stamped ?? late), table);
  assert.equal(new Set(HINTS.map(({ table, dbType }) => `${table} ${dbType}`)).size, HINTS.length);
});
