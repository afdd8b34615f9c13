import { type Connection, rows } from '../../../db/connection.ts';
import type { OraclePrice } from './oracle-prices.ts';
import { type RemovedRows, removalsAfter } from './price-removals.ts';
import { type PriceSnapshot, pageOf } from './prices.ts';
import { STREAMED_TABLES, type StreamedTable } from './streamed-tables.ts';

/** Parts of the stream of prices, each with growing ids. */
export const STREAM_PARTS = ['removals', ...STREAMED_TABLES] as const;

/** The last id of each part: how far a reader of the stream is. */
export type StreamMarks = Readonly<Record<(typeof STREAM_PARTS)[number], number>>;

/** Changes after some marks. Removals go first: rows that replaced removed ones are among the rows. */
export interface PriceChanges {
  /** A page of them. */
  readonly removals: readonly RemovedRows[];
  /** A page of each table; none while a page of removals is full. */
  readonly rows: Readonly<Record<StreamedTable, readonly (PriceSnapshot | OraclePrice)[]>>;
}

/** Reads the highest id of each part, 0 where it is empty. */
export async function highestMarks(connection: Connection): Promise<StreamMarks> {
  const [found] = await rows<StreamMarks>(
    connection,
    `SELECT (SELECT COALESCE(MAX(id), 0) FROM price_removals) AS removals,
            (SELECT COALESCE(MAX(id), 0) FROM price_snapshots) AS price_snapshots,
            (SELECT COALESCE(MAX(id), 0) FROM oracle_prices) AS oracle_prices`
  );
  return {
    removals: Number(found?.removals),
    price_snapshots: Number(found?.price_snapshots),
    oracle_prices: Number(found?.oracle_prices)
  };
}

/** Returns the changes after some marks, from one consistent snapshot. @param most removals up to an id, and rows of each table */
export async function changesAfter(
  connection: Connection,
  after: StreamMarks,
  most: number,
  lastRemoval = Number.MAX_SAFE_INTEGER
): Promise<PriceChanges> {
  const removals = await removalsAfter(connection, after.removals, most, lastRemoval);
  const page = (table: StreamedTable) =>
    removals.length < most ? pageOf(connection, table, after[table], most) : Promise.resolve([]);
  return {
    removals,
    rows: { price_snapshots: await page('price_snapshots'), oracle_prices: await page('oracle_prices') }
  };
}

/** Returns whether more than `most` rows of a table come after an id. */
export async function hasMoreAfter(
  connection: Connection,
  table: StreamedTable,
  id: number,
  most: number
): Promise<boolean> {
  const following = `SELECT 1 FROM ${table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?`;
  return (await rows(connection, following, [id, most])).length > 0;
}
