import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import type { TableDefinition } from '../../../src/indexer/definitions/definition.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { createTables, definitionsOf, type TableOptions } from '../../support/tables-in-use/create-tables.ts';

/** Returns the tables as MariaDB shows them, in the form of their definitions. */
async function shown(connection: Connection): Promise<Record<string, unknown>> {
  const columns = await rows<Record<string, string | null> & { t: string }>(
    connection,
    `SELECT c.TABLE_NAME t, COLUMN_NAME n, COLUMN_TYPE ty, IS_NULLABLE nu, COLUMN_DEFAULT d, EXTRA e, GENERATION_EXPRESSION g,
       IF(c.CHARACTER_SET_NAME IS NULL OR c.COLLATION_NAME = t.TABLE_COLLATION, '', CONCAT(' ', c.CHARACTER_SET_NAME, ' ', c.COLLATION_NAME)) cs,
       (SELECT ' json' FROM information_schema.CHECK_CONSTRAINTS k WHERE k.CONSTRAINT_SCHEMA = DATABASE() AND k.TABLE_NAME = c.TABLE_NAME AND k.CONSTRAINT_NAME = COLUMN_NAME) js
     FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
     WHERE c.TABLE_SCHEMA = DATABASE() ORDER BY c.TABLE_NAME, ORDINAL_POSITION`
  );
  const keys = await rows<{ t: string; n: string; u: number; ty: string; cols: string }>(
    connection,
    `SELECT TABLE_NAME t, INDEX_NAME n, NON_UNIQUE u, INDEX_TYPE ty,
       GROUP_CONCAT(CONCAT(COLUMN_NAME, IF(SUB_PART IS NULL, '', CONCAT('(', SUB_PART, ')')), IF(COLLATION = 'D', ' desc', '')) ORDER BY SEQ_IN_INDEX) cols
     FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() GROUP BY 1, 2, 3, 4 ORDER BY 1, 2`
  );
  const tables = await rows<{ t: string; e: string; c: string }>(
    connection,
    'SELECT TABLE_NAME t, ENGINE e, TABLE_COLLATION c FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()'
  );
  const kind = (key: (typeof keys)[0]) =>
    key.n === 'PRIMARY' ? 'primary' : key.ty === 'FULLTEXT' ? 'fulltext' : Number(key.u) ? 'index' : 'unique';
  const extra = ({ e, g }: (typeof columns)[0]) =>
    g ? `generated: ${g}` : e === 'auto_increment' ? 'auto' : (e ?? '').replace('VIRTUAL GENERATED', '');
  return Object.fromEntries(
    tables.map(({ t, e, c }) => [
      t,
      {
        engine: e,
        collate: c,
        columns: columns
          .filter((column) => column.t === t)
          .map((column) => {
            const { n, ty, nu, d, cs, js } = column;
            const byDefault = !d && d !== '' ? null : d === 'NULL' ? null : d.replace(/^'(.*)'$/, '$1');
            return [n, `${ty}${cs}${js ?? ''}`, nu === 'YES', byDefault, extra(column)].join('|');
          }),
        keys: keys
          .filter((key) => key.t === t)
          .map((key) => `${key.n}|${kind(key)}|${key.cols}`)
          .sort()
      }
    ])
  );
}

function expected(tables: ReadonlyMap<string, TableDefinition>): Record<string, unknown> {
  return Object.fromEntries(
    [...tables].map(([name, { columns, keys, engine, collate }]) => [
      name,
      {
        engine,
        collate,
        columns: columns.map((c) => [c.name, c.type, c.nullable, c.byDefault, c.extra].join('|')),
        keys: keys.map((key) => `${key.name}|${key.kind}|${key.columns.join(',')}`).sort()
      }
    ])
  );
}

const VARIANTS: readonly TableOptions[] = [
  { dbType: 'indexer' },
  { dbType: 'decoder' },
  { dbType: 'indexer', age: 'old', myisam: true },
  { dbType: 'decoder', age: 'old' }
];

for (const variant of VARIANTS) {
  test(`tables are made as they are defined: ${JSON.stringify(variant)}`, async () => {
    const connection = await connect(await createDatabase('tables'));
    await createTables(connection, variant);
    assert.deepEqual(await shown(connection), expected(definitionsOf(variant)));
    await connection.end();
  });
}
