import { type Connection, databaseError, type Statements } from '../../../db/connection.ts';
import { StatementBatch, write } from '../../../db/statement-batch.ts';
import { PlatformError } from '../../../errors.ts';
import { readBlockHeads } from '../../tables/block-hashes.ts';
import type { WriterContext } from '../apply/block-writer.ts';
import { CarriedIds } from '../database/carried-ids.ts';
import { deleteRows, insertRows, selectByKey } from '../database/row-statements.ts';
import { type CanonicalRow, keyText, type ReplicaTable } from '../database/schema.ts';
import { writeReplicaState } from '../database/state.ts';
import { logAnew } from '../database/written-blocks.ts';
import type { TableDifference } from './comparison.ts';

const DUPLICATE_KEY = 1062;

/**
 * Makes the replica's rows the source's where they differ, in one transaction; its height stays.
 *
 * No undo images are kept: every rollback is followed by a comparison, which finds the difference.
 *
 * @throws {PlatformError} REPLICA_MOVED, ROW_CONTRADICTION, DATABASE_UNAVAILABLE; the connection is destroyed then
 */
export async function repair(
  connection: Connection,
  { schema, epochSize }: Pick<WriterContext, 'schema' | 'epochSize'>,
  height: number,
  differences: readonly TableDifference[]
): Promise<void> {
  const parts = schema.tables.flatMap((table) => {
    const difference = differences.find(({ table: name }) => name === table.name);
    return difference ? [{ ...difference, table }] : [];
  });
  try {
    const batch = new StatementBatch(connection);
    const ids = new CarriedIds(parts.filter(({ withIds }) => !withIds).map(({ table }) => table.name));
    await write(batch, 'BEGIN');
    await countRepair(batch, height);
    for (const { table, surplus } of parts.toReversed()) {
      if (surplus.length > 0) await deleteRows(batch, table, surplus);
    }
    for (const { table, surplus, missing, spans } of parts) {
      if (table.name === 'sync_meta') await logAnew(batch, schema.heads!, spans, height, epochSize);
      else await add(batch, table, ids, { surplus, missing });
    }
    const heads = parts.some(({ table }) => table.name === 'blocks') ? schema.heads : null;
    const [tip] = heads ? await readBlockHeads(batch, heads, height, height) : [];
    if (tip) await writeReplicaState(batch, { blockTime: tip.blockTime });
    await batch.query('COMMIT');
  } catch (caught) {
    connection.destroy();
    if ((caught as { errno?: number }).errno === DUPLICATE_KEY) {
      const reason = `a row of the source contradicts the replica: ${(caught as Error).message}`;
      throw new PlatformError('ROW_CONTRADICTION', { reason }, { cause: caught });
    }
    throw databaseError(caught, { repair: height });
  }
}

/** Counts a repair. It fails where a second writer has moved the replica. */
async function countRepair(connection: Statements, height: number): Promise<void> {
  const [result] = await connection.query('UPDATE sync_state SET repairs = repairs + 1 WHERE id = 1 AND height = ?', [
    height
  ]);
  if ((result as { affectedRows: number }).affectedRows === 1) return;
  throw new PlatformError('REPLICA_MOVED', { reason: `the replica is no longer at block ${height}` });
}

/**
 * Adds rows with the source's ids. Where ids are the replica's own, a row that takes the place of another keeps its id, and
 * others get the next ones in the source's order.
 */
async function add(
  connection: Statements,
  table: ReplicaTable,
  ids: CarriedIds,
  { surplus, missing }: Pick<TableDifference, 'surplus' | 'missing'>
): Promise<void> {
  if (missing.length === 0) return;
  const { surrogate, identity } = table;
  const isOwn = ids.isOwn(table);
  const keys = [identity, surrogate === null || isOwn ? null : [surrogate]].filter((key) => key !== null);
  for (const key of keys) {
    // A row that the comparison does not see, such as one above the tip, still takes its key.
    const named = missing.filter((row) => key.every((at) => row[at] !== null));
    const hidden = await selectByKey(connection, table, key, named);
    if (hidden.length > 0) await deleteRows(connection, table, hidden);
  }
  if (surrogate === null || !isOwn) return insertRows(connection, table, missing);
  const freed = new Map(identity ? surplus.map((row) => [keyText(row, identity), row[surrogate]!]) : []);
  const ownOf = (row: CanonicalRow) => (identity ? freed.get(keyText(row, identity)) : undefined);
  const kept = missing.filter((row) => ownOf(row) !== undefined).map((row) => row.with(surrogate, ownOf(row)!));
  await insertRows(connection, table, kept);
  const fresh = missing.filter((row) => ownOf(row) === undefined);
  if (fresh.length > 0) await insertRows(connection, table, await ids.assign(connection, table, fresh));
}
