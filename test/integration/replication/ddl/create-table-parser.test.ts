import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { readCreateTableTexts } from '../../../../src/replication/ddl/create-table-text.ts';
import { finishTables, planSchema, recreateTables } from '../../../../src/replication/ddl/schema-writer.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { readTopology } from '../../../../src/replication/tables/topology.ts';
import type { DbType } from '../../../../src/wire/data/database.ts';
import type { SchemaRecord, TypedTable } from '../../../../src/wire/data/schema.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { createDecoder } from '../../../support/sync/generated-decoder.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';

/** A table with everything that travels, one that only its character sets tell from it, and a child. */
const TABLES = [
  `CREATE TABLE odd (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT, big BIGINT(20) UNSIGNED NULL DEFAULT 18446744073709551615,
    small TINYINT(1) NOT NULL DEFAULT 0, padded INT(7) UNSIGNED ZEROFILL NULL, ratio DOUBLE NOT NULL DEFAULT 0.5,
    part FLOAT(7,3) NULL, price DECIMAL(40,18) NOT NULL DEFAULT -1.500000000000000000, flags BIT(5) NOT NULL DEFAULT b'101',
    word VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL DEFAULT 'it''s \\\\ ; "x"',
    swedish VARCHAR(40) CHARACTER SET latin1 NULL, old VARCHAR(40) CHARACTER SET utf8mb3 NULL COMMENT 'a''b); x',
    raw VARBINARY(20) NULL, fixed BINARY(3) NULL, body LONGBLOB NULL, note TEXT NULL DEFAULT NULL, line TEXT NOT NULL DEFAULT 'a\\nb',
    kind ENUM('a','b''c',',',')','\\\\') NOT NULL DEFAULT 'b''c', tags SET('x','y') NULL, doc JSON NULL, must JSON NOT NULL,
    at DATE NULL, t TIME(2) NULL, y YEAR NULL, u UUID NULL, ip INET6 NULL,
    made DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), seen TIMESTAMP(3) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(3),
    touched TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    word_bin VARBINARY(160) AS (CAST(word AS CHAR CHARACTER SET binary)) STORED, word_low VARCHAR(40) AS (LOWER(word)) VIRTUAL,
    PRIMARY KEY (id), UNIQUE KEY word (word, small), KEY note (note(20)), KEY price (price DESC, ratio), FULLTEXT KEY old (old),
    UNIQUE KEY long_text (body)
  ) ENGINE=MyISAM COMMENT 'x; DROP TABLE y' ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4`,
  `CREATE TABLE odd_sets (a VARCHAR(10), b VARCHAR(10) COLLATE utf8mb4_bin, c CHAR(3) CHARACTER SET ascii, d VARCHAR(9) CHARACTER SET utf8mb4,
    KEY a (a)) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_bin`,
  'CREATE TABLE odd_old (a VARCHAR(10), b TEXT) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci',
  'CREATE TABLE odd_parent (b INT PRIMARY KEY, c INT NOT NULL, UNIQUE KEY both_of (b, c)) ENGINE=InnoDB',
  `CREATE TABLE odd_child (a INT UNSIGNED NOT NULL, b INT NOT NULL, c INT NULL, KEY a (a),
    CONSTRAINT to_parent FOREIGN KEY (b) REFERENCES odd_parent (b) ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT to_both FOREIGN KEY (b, c) REFERENCES odd_parent (b, c), CHECK (a > 1 and (b < 5 or c is null))) ENGINE=InnoDB`
];

const byName = <T extends { readonly name: string }>(list: readonly T[]): T[] =>
  list.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** A description without what has no meaning to a replica: the order of keys, the engine, a generated column's default. */
const comparable = (tables: readonly TypedTable[]) =>
  byName(tables).map(({ name, columns, keys, foreignKeys }) => ({
    name,
    columns: columns.map((column) => (column.generated ? { ...column, default: null } : column)),
    keys: byName(keys),
    // To InnoDB the two are the same, and it does not always tell them apart.
    foreignKeys: byName(foreignKeys).map((key) => ({
      ...key,
      onDelete: key.onDelete.replace('NO ACTION', 'RESTRICT'),
      onUpdate: key.onUpdate.replace('NO ACTION', 'RESTRICT')
    }))
  }));

/** Returns the answer to `/schema` of a source without typed descriptions. */
async function readTexts(connection: Connection, dbType: DbType): Promise<SchemaRecord> {
  const tables = await readCreateTableTexts(connection, await readLayout(connection, dbType));
  return { chain: 'litecoin', network: 'regtest', dbType, tables };
}

for (const dbType of ['indexer', 'decoder'] as const) {
  test(`${dbType}: what is read from CREATE TABLE texts is what information_schema says, and makes the same tables`, async () => {
    const at = await createDatabase('texts');
    if (dbType === 'indexer') await createIndexer(at, { seed: 'texts', blocks: 1, rows: 10 });
    else await createDecoder(at, { seed: 'texts', blocks: 1, rows: 10 });
    const source = await connect(at);
    for (const statement of TABLES) await source.query(statement);
    const plan = planSchema(await readTexts(source, dbType), dbType, []);
    const names = new Set(plan.tables.map(({ table }) => table.name));
    const { tables } = await readTopology(source);
    const expected = comparable(tables.filter(({ name }) => names.has(name)));
    assert.ok(names.size > 8 + TABLES.length - 2);
    assert.deepEqual(comparable(plan.tables.map(({ table }) => table)), expected);

    const replica = await connect(await createDatabase('texts_replica'));
    await replica.query('SET SESSION foreign_key_checks = 0');
    await recreateTables(replica, plan.tables);
    await finishTables(replica, plan.tables);
    assert.deepEqual(comparable((await readTopology(replica)).tables), expected);
    await source.end();
    await replica.end();
  });
}

test('a table that never travels may be anything', async () => {
  const record: SchemaRecord = {
    chain: 'litecoin',
    network: 'regtest',
    dbType: 'indexer',
    tables: {
      icons: 'CREATE VIEW `icons` AS select 1',
      mine: 'no SQL at all',
      blocks: 'CREATE TABLE `blocks` (`a` int(11) DEFAULT NULL)'
    }
  };
  assert.deepEqual(
    planSchema(record, 'indexer', ['mine']).tables.map(({ table }) => table.name),
    ['blocks']
  );
  const { tables, notReplicated } = planSchema(record, 'indexer', []);
  assert.deepEqual(
    tables.map(({ table }) => table.name),
    ['blocks']
  );
  assert.ok(notReplicated.has('mine'));
});
