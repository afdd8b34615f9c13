import type { Statements } from '../../db/connection.ts';

/** Rows that one statement deletes. */
const ROWS_PER_DELETE = 20_000;

/**
 * Deletes the rows of a table from a number on, the highest first: by a key, which the column must have. Some full
 * blocks have too many for one statement's limit of time.
 */
export async function deleteFrom(connection: Statements, table: string, column: string, from: number): Promise<void> {
  for (let deleted = ROWS_PER_DELETE; deleted === ROWS_PER_DELETE; ) {
    const [{ affectedRows }] = (await connection.query(
      `DELETE FROM ${table} WHERE ${column} >= ? ORDER BY ${column} DESC LIMIT ${ROWS_PER_DELETE}`,
      [from]
    )) as unknown as [{ affectedRows: number }];
    deleted = affectedRows;
  }
}
