import { type Connection, quoteName, rows } from '../../../src/db/connection.ts';

/** Fills tables without their keys, and adds these afterwards: sorted once, they cost a fraction of row by row. */
export async function withoutKeys(
  connection: Connection,
  tables: readonly string[],
  fill: () => Promise<void>
): Promise<void> {
  const keys = new Map<string, string[]>();
  for (const table of tables) keys.set(table, await takeKeys(connection, table));
  await fill();
  for (const [table, added] of keys)
    if (added.length > 0) await connection.query(`ALTER TABLE ${quoteName(table)} ${added.join(', ')}`);
}

/** Drops the keys of a table but the primary one. @returns what adds them */
async function takeKeys(connection: Connection, table: string): Promise<string[]> {
  const [created] = await rows<Record<string, string>>(connection, `SHOW CREATE TABLE ${quoteName(table)}`);
  const found = [...created!['Create Table']!.matchAll(/^ {2}((?:UNIQUE )?KEY (`\w+`) .*?),?$/gm)];
  if (found.length === 0) return [];
  const dropped = found.map(([, , name]) => `DROP KEY ${name}`).join(', ');
  await connection.query(`ALTER TABLE ${quoteName(table)} ${dropped}`);
  return found.map(([, definition]) => `ADD ${definition}`);
}
