import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Compile } from 'typebox/compile';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { dropOldTables } from '../../../../src/replication/ddl/gone-tables.ts';
import {
  findChanges,
  finishTables,
  makeChanges,
  planSchema,
  recreateTables,
  type SchemaPlan
} from '../../../../src/replication/ddl/schema-writer.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { readTopology } from '../../../../src/replication/tables/topology.ts';
import { type SchemaRecord, SchemaRecordSchema, type TypedTable } from '../../../../src/wire/data/schema.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';

const ODD = `CREATE TABLE odd (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT, big BIGINT(20) UNSIGNED NULL DEFAULT 18446744073709551615, small TINYINT(1) NOT NULL DEFAULT 0,
  ratio DOUBLE NOT NULL DEFAULT 0.5, price DECIMAL(40,18) NOT NULL DEFAULT -1.500000000000000000, flags BIT(5) NOT NULL DEFAULT b'101',
  word VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL DEFAULT 'it''s \\\\ ; "x"',
  old VARCHAR(40) CHARACTER SET utf8mb3 NULL, raw VARBINARY(20) NULL, body LONGBLOB NULL, note TEXT NULL DEFAULT NULL,
  kind ENUM('a','b''c',',') NOT NULL DEFAULT 'b''c', tags SET('x','y') NULL, doc JSON NULL,
  made DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), seen TIMESTAMP(3) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(3),
  word_bin VARBINARY(160) AS (CAST(word AS CHAR CHARACTER SET binary)) STORED, word_low VARCHAR(40) AS (LOWER(word)) VIRTUAL,
  PRIMARY KEY (id), UNIQUE KEY word (word, small), KEY note (note(20)), KEY price (price DESC, ratio), FULLTEXT KEY old (old)
) ENGINE=MyISAM COMMENT 'x; DROP TABLE y' ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4`;
const CHILD = `CREATE TABLE odd_child (a INT UNSIGNED NOT NULL, b INT NOT NULL, KEY a (a),
  CONSTRAINT to_parent FOREIGN KEY (b) REFERENCES odd_parent (b) ON DELETE CASCADE ON UPDATE NO ACTION) ENGINE=InnoDB`;

/** Returns the facts that a replica must share with its source: all but the engine, and the word for a rule that restricts. */
const comparable = (tables: readonly TypedTable[], names: ReadonlySet<string>) =>
  tables
    .filter(({ name }) => names.has(name))
    .map((table) => ({ ...table, engine: '', foreignKeys: table.foreignKeys.map(withOneWord) }));
const withOneWord = (key: TypedTable['foreignKeys'][number]) => ({
  ...key,
  onDelete: key.onDelete.replace('NO ACTION', 'RESTRICT'),
  onUpdate: key.onUpdate.replace('NO ACTION', 'RESTRICT')
});

async function followSchema(connection: Connection, plan: SchemaPlan): Promise<string[]> {
  const changes = await findChanges(connection, plan);
  await makeChanges(connection, changes, 7);
  return changes.map(({ table }) => table);
}

const record = (typed: readonly TypedTable[]): SchemaRecord =>
  ({
    chain: 'litecoin',
    network: 'regtest',
    dbType: 'indexer',
    tables: {},
    typed: [...typed],
    fingerprint: 'f'
  }) as SchemaRecord;

test('a replica made from a typed schema describes itself as its source does, and following the same schema changes nothing', async () => {
  const at = await createDatabase('schema_source');
  await createIndexer(at, { seed: 'schema', blocks: 1, rows: 10 });
  const source = await connect(at);
  await source.query(ODD);
  await source.query('CREATE TABLE odd_parent (b INT PRIMARY KEY) ENGINE=InnoDB');
  await source.query(CHILD);
  const sourceTopology = await readTopology(source);
  const replica = await connect(await createDatabase('schema_replica'));
  await replica.query('SET SESSION foreign_key_checks = 0');
  const plan = planSchema(record(sourceTopology.tables), 'indexer', []);
  assert.ok(plan.tables.length > 20);
  await recreateTables(replica, plan.tables);
  await finishTables(replica, plan.tables);
  await finishTables(replica, plan.tables); // as after a death before it was noted
  const names = new Set(plan.tables.map(({ table }) => table.name));
  const made = await readTopology(replica);
  assert.deepEqual(comparable(made.tables, names), comparable(sourceTopology.tables, names));
  assert.ok(made.tables.every(({ engine }) => engine === 'InnoDB'));
  assert.deepEqual(await followSchema(replica, plan), []);
  assert.deepEqual((await readTopology(replica)).tables, made.tables);
  await source.end();
  await replica.end();
});

/** Tables before a change between two blocks; rows that stay keep their values. */
const BEFORE = [
  'CREATE TABLE plain (a INT NOT NULL, b INT NOT NULL, c VARCHAR(10) NULL, PRIMARY KEY (a), KEY c (c))',
  'INSERT INTO plain VALUES (1, 2, NULL), (3, 4, NULL)',
  'CREATE TABLE made (a INT NOT NULL, twice INT AS (a * 2) STORED, low VARCHAR(20) AS (LOWER(a)) VIRTUAL, KEY twice (twice))',
  'INSERT INTO made (a) VALUES (4)',
  'CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE)',
  'CREATE TABLE child (parent_id INT NULL, other_id INT NULL, CONSTRAINT fk FOREIGN KEY (parent_id) REFERENCES parent (id) ON DELETE CASCADE)',
  'CREATE TABLE dropped (a INT)',
  'CREATE TABLE renamed (a INT)'
];
const CHANGES = [
  'ALTER TABLE plain DROP COLUMN c, ADD COLUMN d TEXT NULL FIRST, MODIFY b BIGINT UNSIGNED NULL, DROP PRIMARY KEY, ADD UNIQUE KEY a (a, b)',
  'ALTER TABLE plain ADD COLUMN id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, ADD KEY d (d(10))',
  'ALTER TABLE made DROP COLUMN twice, DROP COLUMN low',
  'ALTER TABLE made ADD COLUMN twice INT AS (a * 3) VIRTUAL, ADD COLUMN low VARCHAR(20) NULL, ADD KEY twice (twice)',
  'ALTER TABLE child DROP FOREIGN KEY fk',
  'ALTER TABLE child DROP KEY fk, ADD CONSTRAINT fk FOREIGN KEY (other_id) REFERENCES parent (id) ON DELETE SET NULL',
  'DROP TABLE dropped',
  'RENAME TABLE renamed TO fresh'
];

test('a replica follows whatever becomes of its source: columns, types, keys, references and tables, and leaves what is not its own', async () => {
  const source = await connect(await createDatabase('schema_source'));
  const replica = await connect(await createDatabase('schema_replica'));
  await replica.query('SET SESSION foreign_key_checks = 0');
  for (const statement of BEFORE) await source.query(statement);
  const first = planSchema(record((await readTopology(source)).tables), 'decoder', []);
  await recreateTables(replica, first.tables);
  await finishTables(replica, first.tables);
  await replica.query('INSERT INTO plain VALUES (1, 2, NULL), (3, 4, NULL)');
  await replica.query('CREATE TABLE of_the_operator (a INT)');
  for (const statement of CHANGES) await source.query(statement);
  const sourceTables = (await readTopology(source)).tables;
  const plan = planSchema(record(sourceTables), 'decoder', []);
  const changed = await followSchema(replica, plan);
  assert.deepEqual(changed.toSorted(), ['child', 'dropped', 'fresh', 'made', 'plain', 'renamed']);
  const made = (await readTopology(replica)).tables;
  const names = new Set(sourceTables.map(({ name }) => name));
  assert.deepEqual(comparable(made, names), comparable(sourceTables, names));
  assert.deepEqual(
    made.map(({ name }) => name).filter((name) => !names.has(name)),
    ['_gone_dropped_7', '_gone_renamed_7', 'of_the_operator']
  );
  const [kept] = await replica.query('SELECT a, b FROM plain ORDER BY a');
  assert.deepEqual(JSON.stringify(kept), '[{"a":1,"b":2},{"a":3,"b":4}]');
  assert.deepEqual(await followSchema(replica, plan), []);
  await source.end();
  await replica.end();
});

test('a table that went keeps its rows under another name, as often as it goes, until its time is over', async () => {
  const source = await connect(await createDatabase('schema_source'));
  const replica = await connect(await createDatabase('schema_replica'));
  await replica.query('SET SESSION foreign_key_checks = 0');
  const long = 'l'.repeat(64);
  const make = [
    'CREATE TABLE stays (id INT PRIMARY KEY, gone_id INT NULL, CONSTRAINT to_gone FOREIGN KEY (gone_id) REFERENCES goes (id))',
    'CREATE TABLE goes (id INT PRIMARY KEY, stays_id INT NULL, CONSTRAINT to_stays FOREIGN KEY (stays_id) REFERENCES stays (id))',
    `CREATE TABLE ${long} (a INT PRIMARY KEY)`
  ];
  const follow = async () => {
    const plan = planSchema(record((await readTopology(source)).tables), 'decoder', []);
    return makeChanges(replica, await findChanges(replica, plan), 12);
  };
  await source.query('SET SESSION foreign_key_checks = 0');
  for (const statement of make) await source.query(statement);
  assert.deepEqual(await follow(), []);
  await replica.query('INSERT INTO goes VALUES (1, NULL)');
  const leave = async () => {
    for (const statement of ['ALTER TABLE stays DROP FOREIGN KEY to_gone', 'DROP TABLE goes', `DROP TABLE ${long}`])
      await source.query(statement);
    return follow();
  };
  assert.deepEqual((await leave()).toSorted(), ['_gone_goes_12', `_gone_${'l'.repeat(55)}_12`]);
  const [kept] = await replica.query('SELECT id FROM _gone_goes_12');
  assert.equal(JSON.stringify(kept), '[{"id":1}]');
  assert.deepEqual(await follow(), [], 'it is nobody who went');
  await source.query('DROP TABLE stays');
  for (const statement of make) await source.query(statement);
  assert.deepEqual(await follow(), [], 'a reference of the same name can be made again');
  assert.deepEqual((await leave()).toSorted(), ['_gone_goes_12_2', `_gone_${'l'.repeat(53)}_12_2`]);
  await replica.query('CREATE TABLE _gone_of_the_operator_1 (a INT)');
  assert.deepEqual(await dropOldTables(replica, 60_000), []);
  assert.equal((await dropOldTables(replica, 0)).length, 4);
  const left = (await readTopology(replica)).tables.map(({ name }) => name);
  assert.deepEqual(left, ['_gone_of_the_operator_1', 'stays']);
  await source.end();
  await replica.end();
});

test('ROW_CONTRADICTION: rows that do not fit the newer schema leave the table as it was', async () => {
  const source = await connect(await createDatabase('schema_source'));
  const replica = await connect(await createDatabase('schema_replica'));
  for (const side of [source, replica]) await side.query('CREATE TABLE words (word VARCHAR(20) NOT NULL)');
  await replica.query("INSERT INTO words VALUES ('longer than five')");
  await source.query('ALTER TABLE words MODIFY word VARCHAR(5) NOT NULL');
  const plan = planSchema(record((await readTopology(source)).tables), 'decoder', []);
  await assert.rejects(followSchema(replica, plan), { code: 'ROW_CONTRADICTION' });
  const [words] = await replica.query('SELECT word FROM words');
  assert.equal(JSON.stringify(words), '[{"word":"longer than five"}]');
  await source.end();
  await replica.end();
});

test('a table that no replica can make is left out by name, with reason and remedy, until it can be made', async () => {
  const source = await connect(await createDatabase('schema_source'));
  await source.query('CREATE TABLE `accounts-2026-11-26` (a INT)');
  await source.query('CREATE TABLE places (id INT PRIMARY KEY, at POINT NULL)');
  await source.query('CREATE TABLE plain (a INT PRIMARY KEY)');
  const { tables } = await readTopology(source);
  assert.ok(Compile(SchemaRecordSchema).Check(record(tables)), 'it arrives');
  const layout = await readLayout(source, 'decoder');
  const plan = planSchema(record(tables), 'decoder', []);
  for (const { notReplicated } of [layout, plan]) {
    assert.match(notReplicated.get('accounts-2026-11-26') ?? '', /"accounts-2026-11-26".*SYNC_LOCAL_TABLES/);
    assert.match(notReplicated.get('places') ?? '', /table places, column at: type point is not allowed/);
    assert.equal(notReplicated.size, 2);
  }
  assert.deepEqual(
    plan.tables.map(({ table }) => table.name),
    ['plain']
  );
  assert.equal(planSchema(record(tables), 'decoder', ['places', 'accounts-2026-11-26']).notReplicated.size, 0);
  await source.query('ALTER TABLE places DROP COLUMN at');
  const healed = await readLayout(source, 'decoder');
  assert.ok(!healed.notReplicated.has('places'));
  assert.notEqual(healed.fingerprint, layout.fingerprint);
  await source.end();
});

test('SCHEMA_REFUSED: what MariaDB itself refuses is told with the table and its words', async () => {
  const replica = await connect(await createDatabase('schema_refused'));
  const column = {
    name: 'a',
    type: 'varchar(60)',
    nullable: false,
    default: null,
    charset: 'utf8mb4',
    collation: 'utf8mb4_nonsense_ci',
    autoIncrement: false,
    onUpdate: null,
    generated: null,
    json: false
  };
  const plan = planSchema(
    record([{ name: 'bad', engine: 'InnoDB', columns: [column], keys: [], foreignKeys: [] }]),
    'indexer',
    []
  );
  await assert.rejects(
    recreateTables(replica, plan.tables),
    (fault: Error & { code?: string }) => fault.code === 'SCHEMA_REFUSED' && /table bad.*nonsense/.test(fault.message)
  );
  await replica.end();
});
