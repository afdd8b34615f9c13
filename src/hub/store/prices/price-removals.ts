import { type Connection, rows, type SqlRow } from '../../../db/connection.ts';
import type { StreamedTable } from './streamed-tables.ts';

/** Rows that a push took the place of. */
export interface RemovedRows extends SqlRow {
  /** Grows from removal to removal. */
  readonly id: number;
  readonly table: StreamedTable;
  /** Null, as both indexes: of a round that a hub found itself. */
  readonly source_chain: string | null;
  readonly from_action_index: number | null;
  readonly to_action_index: number | null;
  /** Null: of `oracle_prices`. */
  readonly round_number: number | null;
  /** The generation that took their place; theirs is below it. */
  readonly retraction_generation: number;
}

/** Number of removals that are kept: the newest by trusted callers, and as many by strangers. */
export const KEPT_REMOVALS = 10_000;

/** Writes down the rows that the transaction removes. @param trusted whether the caller that removes them is trusted */
export async function insertRemoval(
  connection: Connection,
  { table, ...place }: Omit<RemovedRows, 'id'>,
  trusted: boolean
): Promise<void> {
  await connection.query('INSERT INTO price_removals SET ?', [{ table_name: table, ...place, trusted }]);
  await forgetOldest(connection, trusted);
}

/**
 * Writes down that a trusted caller removes rows of strangers, each by its own generation.
 *
 * @param below generations that another removal tells of
 */
export async function insertRemovalsOfStrangers(
  connection: Connection,
  table: StreamedTable,
  { where, values, below }: { readonly where: string; readonly values: readonly unknown[]; readonly below: number }
): Promise<void> {
  const isRound = table === 'price_snapshots';
  const index = isRound ? 'source_action_index' : 'action_index';
  await connection.query(
    `INSERT INTO price_removals
       (table_name, source_chain, from_action_index, to_action_index, round_number, retraction_generation, trusted)
     SELECT DISTINCT ?, source_chain, ${index}, ${index}, ${isRound ? 'round_number' : 'NULL'}, push_generation + 1, TRUE
       FROM ${table} WHERE ${where} AND push_generation >= ? AND trusted = 0`,
    [table, ...values, below]
  );
  await forgetOldest(connection, true);
}

/** Forgets the oldest removals. One more stays than is promised: it shows that there were more. */
async function forgetOldest(connection: Connection, trusted: boolean): Promise<void> {
  const [oldest] = await rows<{ id: number }>(
    connection,
    'SELECT id FROM price_removals WHERE trusted = ? ORDER BY id DESC LIMIT 1 OFFSET ?',
    [trusted, KEPT_REMOVALS]
  );
  if (oldest) await connection.query('DELETE FROM price_removals WHERE trusted = ? AND id < ?', [trusted, oldest.id]);
}

/** Returns whether removals by trusted callers after an id may be forgotten. Those by strangers are of strangers' rows alone. */
export async function lacksRemovals(connection: Connection, id: number): Promise<boolean> {
  const following = 'SELECT 1 FROM price_removals WHERE trusted AND id > ? ORDER BY id LIMIT 1 OFFSET ?';
  return (await rows(connection, following, [id, KEPT_REMOVALS])).length > 0;
}

/** Returns the removals that are kept after an id, up to another one, in their order. */
export const removalsAfter = (connection: Connection, id: number, most: number, last: number): Promise<RemovedRows[]> =>
  rows<RemovedRows>(
    connection,
    `SELECT id, table_name AS \`table\`, source_chain, from_action_index, to_action_index, round_number,
            retraction_generation FROM price_removals WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
    [id, last, most]
  );
