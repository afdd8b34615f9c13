import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/db/connection.ts';
import { finishTables, followSchema, planSchema, recreateTables } from '../../src/db/schema-writer.ts';
import { readTopology } from '../../src/db/topology.ts';
import type { SchemaRecord, TypedTable } from '../../src/wire/schema.ts';
import { createIndexer } from '../support/generated-indexer.ts';
import { createDatabase } from '../support/mariadb.ts';

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

/** What a replica must share with its source: everything but the engine. */
const comparable = (tables: readonly TypedTable[], names: ReadonlySet<string>) =>
  tables.filter(({ name }) => names.has(name)).map((table) => ({ ...table, engine: '' }));

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
  const theirs = await readTopology(source);
  const replica = await connect(await createDatabase('schema_replica'));
  await replica.query('SET SESSION foreign_key_checks = 0');
  const plan = planSchema(record(theirs.tables), 'indexer', []);
  assert.ok(plan.tables.length > 20);
  await recreateTables(replica, plan.tables);
  await finishTables(replica, plan.tables);
  await finishTables(replica, plan.tables); // as after a death before it was noted
  const names = new Set(plan.tables.map(({ table }) => table.name));
  const made = await readTopology(replica);
  assert.deepEqual(comparable(made.tables, names), comparable(theirs.tables, names));
  assert.ok(made.tables.every(({ engine }) => engine === 'InnoDB'));
  await followSchema(replica, plan);
  assert.equal((await readTopology(replica)).fingerprint, made.fingerprint);
  await source.end();
  await replica.end();
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
