import { type Connection, quoteName, type SqlRow } from '../../../db/connection.ts';
import { wireRows } from '../../../db/wire-rows.ts';
import { PlatformError } from '../../../errors.ts';
import { SCHEMA_VERSION } from '../../../wire/data/database.ts';
import type { Dispensers, LookupPage } from '../../../wire/data/pages.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';

/** Rows of one statement: a page reads at most this many beyond its bytes. */
const STEP_ROWS = 2_000;

/** The limits of a page. */
interface PageOrder {
  readonly table: string;
  readonly afterId: number | string | null;
  readonly limit: number;
  readonly maxBytes: number;
}

/** More rows than this are no answer that a client can replace its table with. */
const MAX_DISPENSERS = 1_000_000;

/**
 * Reads one page of a lookup table, by id, its rows as JSON texts. Call it inside a snapshot.
 *
 * @param afterId null: from the beginning, an id of 0 included
 * @param maxBytes the page ends before rows that would make it longer; it always has its first row
 * @throws {PlatformError} REQUEST_INVALID when the table is none
 */
export async function readLookupPage(
  connection: Connection,
  layout: SourceLayout,
  { table, afterId, limit, maxBytes }: PageOrder
): Promise<Omit<LookupPage, 'rows'> & { readonly rows: readonly string[] }> {
  const plan = layout.plans.find((each) => each.name === table && each.class === 'lookup');
  if (!plan) throw new PlatformError('REQUEST_INVALID', { reason: `${table} is not a lookup table of this database` });
  const page: string[] = [];
  let last = afterId;
  let bytes = 0;
  let isFull = false;
  let hasMore = true;
  while (hasMore && !isFull && page.length < limit) {
    const count = Math.min(STEP_ROWS, limit - page.length);
    // A text would be compared as a double.
    const where = last === null ? '' : `WHERE id > ${BigInt(last)}`;
    const found = await wireRows<SqlRow & { id: number | string }>(connection, {
      columns: plan.columns,
      sql: (list) => `SELECT ${list} FROM ${quoteName(table)} ${where} ORDER BY id LIMIT ?`,
      values: [count + 1]
    });
    hasMore = found.length > count;
    for (const row of found.slice(0, count)) {
      const text = JSON.stringify(row);
      bytes += Buffer.byteLength(text);
      isFull = page.length > 0 && bytes > maxBytes;
      if (isFull) break;
      page.push(text);
      last = row.id;
    }
  }
  const schema_version = SCHEMA_VERSION[layout.dbType];
  return { schema_version, table, max_id: last, has_more: hasMore || isFull, rows: page };
}

/** @throws {PlatformError} RECORD_UNKNOWN where there is no such table, RANGE_TOO_LARGE */
export async function readDispensers(connection: Connection, layout: SourceLayout): Promise<Dispensers> {
  const plan = layout.plans.find(({ class: tableClass }) => tableClass === 'snapshotOnly');
  if (!plan) throw new PlatformError('RECORD_UNKNOWN', { reason: 'this database has no dispensers' });
  const sql = (list: string) => `SELECT ${list} FROM ${quoteName(plan.name)} LIMIT ${MAX_DISPENSERS + 1}`;
  const found = await wireRows(connection, { columns: plan.columns, sql });
  if (found.length > MAX_DISPENSERS)
    throw new PlatformError('RANGE_TOO_LARGE', { reason: `${plan.name} has more than ${MAX_DISPENSERS} rows` });
  const addresses = plan.columns.map(({ name }) => name).filter((name) => /(^|_)address_id$/.test(name));
  return {
    schema_version: SCHEMA_VERSION[layout.dbType],
    max_tx: highest(found, ['tx_index']),
    max_addr: highest(found, addresses),
    has_more: false,
    rows: found
  };
}

function highest(found: readonly SqlRow[], columns: readonly string[]): number | null {
  let most: number | null = null;
  for (const row of found)
    for (const name of columns) if (row[name] != null) most = Math.max(most ?? 0, Number(row[name]));
  return most;
}
