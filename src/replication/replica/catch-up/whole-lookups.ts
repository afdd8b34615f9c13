import { type Connection, quoteName, rows } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { ReplicaSchema } from '../database/schema.ts';
import type { SnapshotBatch } from '../database/snapshot-batch.ts';

/** Reads the names of the lookup tables that have rows in this replica. */
export async function filledLookups(connection: Connection, { tables }: ReplicaSchema): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const { name } of tables.filter(({ plan }) => plan.class === 'lookup')) {
    const [row] = await rows(connection, `SELECT 1 FROM ${quoteName(name)} LIMIT 1`);
    if (row) found.add(name);
  }
  return found;
}

/**
 * Yields the same batches, from a server that sends lookup tables whole and does not mark them: a table that never came
 * is not an empty one.
 *
 * @throws {PlatformError} ROW_CONTRADICTION at the end, where one of the tables did not come
 */
export async function* withTables<Result>(
  batches: AsyncGenerator<SnapshotBatch, Result>,
  names: ReadonlySet<string>
): AsyncGenerator<SnapshotBatch, Result> {
  const missing = new Set(names);
  for (;;) {
    const next = await batches.next();
    if (!next.done) {
      missing.delete(next.value.table);
      yield next.value;
    } else if (missing.size === 0) return next.value;
    else {
      const [table] = missing;
      throw new PlatformError('ROW_CONTRADICTION', {
        reason: `the source sent no row of lookup table ${table}`,
        table
      });
    }
  }
}
