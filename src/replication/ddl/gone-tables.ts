import { type Connection, databaseError, quoteName, rows } from '../../db/connection.ts';
import { GONE_PREFIX } from '../tables/classify.ts';

/** Begins the comment of a table that was set aside; the time when it was follows at the end. */
const ASIDE_COMMENT = 'set aside by platform-node at block';
const MAX_NAME = 64;

/**
 * Renames a table that its source has no more to `_gone_<table>_<height>`, without its foreign keys. Its rows stay.
 *
 * @returns its new name
 */
export async function setAside(connection: Connection, table: string, height: number): Promise<string> {
  const name = await freeName(connection, table, height);
  const references = await rows<{ name: string }>(
    connection,
    `SELECT CONSTRAINT_NAME AS name FROM information_schema.REFERENTIAL_CONSTRAINTS
     WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = BINARY ?`,
    [table]
  );
  const parts = [
    ...references.map((key) => `DROP FOREIGN KEY ${quoteName(key.name)}`),
    `COMMENT = '${ASIDE_COMMENT} ${height}, ${new Date().toISOString()}'`,
    `RENAME TO ${quoteName(name)}`
  ];
  try {
    await connection.query(`ALTER TABLE ${quoteName(table)} ${parts.join(', ')}`);
  } catch (caught) {
    throw databaseError(caught, { table });
  }
  return name;
}

/** Drops the tables that were set aside longer ago. @returns their names */
export async function dropOldTables(connection: Connection, keptMs: number): Promise<readonly string[]> {
  const found = await rows<{ name: string; comment: string }>(
    connection,
    `SELECT TABLE_NAME AS name, TABLE_COMMENT AS comment FROM information_schema.TABLES
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE ? AND TABLE_COMMENT LIKE ?`,
    [`${GONE_PREFIX.replaceAll('_', '\\_')}%`, `${ASIDE_COMMENT} %`]
  );
  const isOld = ({ comment }: { comment: string }) => Date.parse(comment.split(', ').at(-1)!) + keptMs <= Date.now();
  const names = found.filter(isOld).map(({ name }) => name);
  for (const name of names) await connection.query(`DROP TABLE ${quoteName(name)}`);
  return names;
}

/** Finds a name that is free: a table may come back and go again at the same height. */
async function freeName(connection: Connection, table: string, height: number): Promise<string> {
  const found = await rows<{ name: string }>(
    connection,
    'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()'
  );
  const taken = new Set(found.map(({ name }) => name.toLowerCase()));
  for (let count = 1; ; count++) {
    const end = `_${height}${count === 1 ? '' : `_${count}`}`;
    const name = `${GONE_PREFIX}${table.slice(0, MAX_NAME - GONE_PREFIX.length - end.length)}${end}`;
    if (!taken.has(name.toLowerCase())) return name;
  }
}
