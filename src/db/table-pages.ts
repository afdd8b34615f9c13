import { PlatformError } from '../errors.ts';
import { SCHEMA_VERSION } from '../wire/database.ts';
import type { Dispensers, LookupPage } from '../wire/pages.ts';
import { type Connection, quoteName, rows, type SqlRow } from './connection.ts';
import { selectList, toWireRows } from './row-codec.ts';
import type { SourceLayout } from './source-layout.ts';

/** More rows than this are no answer that a client can replace its table with. */
const MAX_DISPENSERS = 1_000_000;

/**
 * One page of a lookup table, by id.
 *
 * @param afterId null: from the beginning, an id of 0 included
 * @throws {PlatformError} REQUEST_INVALID when the table is none
 */
export async function readLookupPage(
  connection: Connection,
  layout: SourceLayout,
  table: string,
  afterId: number | null,
  limit: number
): Promise<LookupPage> {
  const plan = layout.plans.find((each) => each.name === table && each.class === 'lookup');
  if (!plan) throw new PlatformError('REQUEST_INVALID', { reason: `${table} is no lookup table of this database` });
  const found = await rows<SqlRow & { id: number | string }>(
    connection,
    `SELECT ${selectList(plan.columns)} FROM ${quoteName(table)}
     ${afterId === null ? '' : 'WHERE id > ?'} ORDER BY id LIMIT ?`,
    afterId === null ? [limit + 1] : [afterId, limit + 1]
  );
  const page = found.slice(0, limit);
  return {
    schema_version: SCHEMA_VERSION[layout.dbType],
    table,
    max_id: page.at(-1)?.id ?? afterId,
    has_more: found.length > limit,
    rows: toWireRows(page, plan.columns)
  };
}

/** @throws {PlatformError} RECORD_UNKNOWN where there is no such table, RANGE_TOO_LARGE */
export async function readDispensers(connection: Connection, layout: SourceLayout): Promise<Dispensers> {
  const plan = layout.plans.find(({ class: tableClass }) => tableClass === 'snapshotOnly');
  if (!plan) throw new PlatformError('RECORD_UNKNOWN', { reason: 'this database has no dispensers' });
  const found = await rows(
    connection,
    `SELECT ${selectList(plan.columns)} FROM ${quoteName(plan.name)} LIMIT ${MAX_DISPENSERS + 1}`
  );
  if (found.length > MAX_DISPENSERS)
    throw new PlatformError('RANGE_TOO_LARGE', { reason: `${plan.name} has more than ${MAX_DISPENSERS} rows` });
  const addresses = plan.columns.map(({ name }) => name).filter((name) => /(^|_)address_id$/.test(name));
  return {
    schema_version: SCHEMA_VERSION[layout.dbType],
    max_tx: highest(found, ['tx_index']),
    max_addr: highest(found, addresses),
    has_more: false,
    rows: toWireRows(found, plan.columns)
  };
}

function highest(found: readonly SqlRow[], columns: readonly string[]): number | null {
  let most: number | null = null;
  for (const row of found)
    for (const name of columns) if (row[name] != null) most = Math.max(most ?? 0, Number(row[name]));
  return most;
}
