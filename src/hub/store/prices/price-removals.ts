import { type Connection, rows, type SqlRow } from '../../../db/core/connection.ts';
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

/** How many removals are kept, by their ids: the newest. */
export const KEPT_REMOVALS = 10_000;

/** Writes down what the transaction removes, and forgets the oldest removal. */
export async function insertRemoval(connection: Connection, removed: Omit<RemovedRows, 'id'>): Promise<void> {
  const { table, ...place } = removed;
  const row = { table_name: table, ...place };
  const [{ insertId }] = (await connection.query('INSERT INTO price_removals SET ?', [row])) as unknown as [
    { insertId: number }
  ];
  if (insertId > KEPT_REMOVALS)
    await connection.query('DELETE FROM price_removals WHERE id <= ?', [insertId - KEPT_REMOVALS]);
}

/** All that are kept of those after an id, in their order. */
export const removalsAfter = (connection: Connection, id: number): Promise<RemovedRows[]> =>
  rows<RemovedRows>(
    connection,
    `SELECT id, table_name AS \`table\`, source_chain, from_action_index, to_action_index, round_number,
            retraction_generation FROM price_removals WHERE id > ? ORDER BY id`,
    [id]
  );
