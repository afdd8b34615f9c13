import { connect } from '../../src/db/connection.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { createTables } from '../support/tables-in-use/create-tables.ts';

/** Definitions in databases in use where ours differ. */
const AS_IN_USE: Readonly<Record<DbType, readonly string[]>> = {
  decoder: ["UPDATE transactions SET data = NULL WHERE data = ''"],
  indexer: ['UPDATE blocks SET state_hash_id = NULL']
};

/** Copies the rows of a database of ours into tables as they are in use elsewhere, with the values that stand there. */
export async function copyToOthers(own: DatabaseCoordinates, dbType: DbType): Promise<DatabaseCoordinates> {
  const others = await createDatabase(`others_${dbType}`);
  const connection = await connect(others);
  const tables = await createTables(connection, { dbType });
  await connection.end();
  for (const [table, { columns }] of tables) {
    const here = await sql(own, `SHOW TABLES LIKE '${table}'`);
    if (here.length === 0 || table === 'schema_migrations') continue;
    const known = new Set((await sql(own, `SHOW COLUMNS FROM ${table}`)).map(({ Field }) => String(Field)));
    const names = columns
      .filter(({ name, extra }) => known.has(name) && !extra.startsWith('generated'))
      .map(({ name }) => `\`${name}\``)
      .join(', ');
    await sql(
      others,
      `DELETE FROM ${table}`,
      `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${own.name}.${table}`
    );
  }
  await sql(others, ...AS_IN_USE[dbType]);
  return others;
}
