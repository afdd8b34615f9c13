import type { WireRow } from '../wire/messages.ts';
import { type Connection, databaseError, quoteName } from './connection.ts';
import { canonicalRow, type ReplicaTable } from './replica-schema.ts';
import { type ReplicaState, writeReplicaState } from './replica-state.ts';
import { insertRows } from './row-statements.ts';

/**
 * Makes a table hold these rows and no others, and notes in the marker as of when, in one transaction.
 *
 * @throws {PlatformError} SOURCE_INVALID for rows that do not fit, with nothing changed; DATABASE_*, the connection destroyed
 */
export async function replaceTable(
  connection: Connection,
  table: ReplicaTable,
  list: readonly WireRow[],
  change: Partial<ReplicaState>
): Promise<void> {
  const fresh = list.map((row) => canonicalRow(table, row));
  try {
    await connection.query('START TRANSACTION');
    await connection.query(`DELETE FROM ${quoteName(table.name)}`);
    await insertRows(connection, table, fresh);
    await writeReplicaState(connection, change);
    await connection.query('COMMIT');
  } catch (caught) {
    connection.destroy();
    throw databaseError(caught, { table: table.name });
  }
}
