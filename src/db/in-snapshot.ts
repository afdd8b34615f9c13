import type { Connection } from './connection.ts';

/**
 * Runs a read in one consistent snapshot.
 *
 * A connection on which it failed is in an unknown state: the caller destroys it.
 */
export async function inSnapshot<T>(connection: Connection, read: () => Promise<T>): Promise<T> {
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
  const result = await read();
  await connection.query('COMMIT');
  return result;
}
