import { type Connection, databaseError, quoteName } from '../../../db/connection.ts';
import type { WireRow } from '../../../wire/data/messages.ts';
import { insertRows } from '../database/row-statements.ts';
import { canonicalRow, type ReplicaTable } from '../database/schema.ts';
import { type ReplicaState, writeReplicaState } from '../database/state.ts';

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
