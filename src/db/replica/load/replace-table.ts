import type { WireRow } from '../../../wire/data/messages.ts';
import { type Connection, databaseError, quoteName } from '../../core/connection.ts';
import { insertRows } from '../row-statements.ts';
import { canonicalRow, type ReplicaTable } from '../schema.ts';
import { type ReplicaState, writeReplicaState } from '../state.ts';

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
