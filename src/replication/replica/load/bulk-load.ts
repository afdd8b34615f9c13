import { Readable } from 'node:stream';
import type { ResultSetHeader } from 'mysql2/promise';
import { type Connection, databaseError, quoteName, refusalOf, rows } from '../../../db/connection.ts';
import { isRawText } from '../../../db/raw-text.ts';
import { isByteKind, isFree, toField } from '../../../db/sql-literal.ts';
import { PlatformError } from '../../../errors.ts';
import type { WireRow } from '../../../wire/data/messages.ts';
import { hasBytes, insertRows } from '../database/row-statements.ts';
import { type CanonicalRow, canonicalRow, type ReplicaTable } from '../database/schema.ts';

/** A batch that takes longer than this has stopped: its connection is ended. */
const BATCH_DEADLINE_MS = 300_000;
const PACKET_BYTES = 1024 * 1024;

/** Returns whether the server takes LOAD DATA LOCAL; without it rows go in by INSERT, several times slower. */
export async function allowsBulkLoad(connection: Connection): Promise<boolean> {
  const [setting] = await rows<{ allowed: number }>(connection, 'SELECT @@GLOBAL.local_infile AS allowed');
  return Number(setting?.allowed) === 1;
}

/**
 * Adds one batch of rows, ids included, in one transaction: all of them unchanged, or none.
 *
 * LOAD DATA never fails but cuts, clamps and skips; so a batch counts only when its counts are exact. Otherwise the batch is sent
 * again by strict INSERT, which names the bad row.
 *
 * @throws {PlatformError} ROW_REFUSED, SOURCE_INVALID, DATABASE_UNAVAILABLE; the connection is destroyed then
 */
export async function loadBatch(
  connection: Connection,
  table: ReplicaTable,
  batch: readonly WireRow[],
  bulk: boolean
): Promise<void> {
  if (batch.length === 0) return;
  const list = batch.map((row) => canonicalRow(table, row));
  const watchdog = setTimeout(() => connection.destroy(), BATCH_DEADLINE_MS);
  try {
    await connection.query('BEGIN');
    // A LOAD DATA file is text: bytes of a text column that are none go in by INSERT.
    const [loadable, others] = bulk ? divide(list) : [[], list];
    if (loadable.length === 0 || (await loadData(connection, table, loadable)))
      await insertStrictly(connection, table, others);
    else {
      await connection.query('ROLLBACK');
      await connection.query('BEGIN');
      await insertStrictly(connection, table, list);
    }
    await connection.query('COMMIT');
  } catch (caught) {
    connection.destroy();
    throw databaseError(caught, { table: table.name });
  } finally {
    clearTimeout(watchdog);
  }
}

function divide(
  list: readonly CanonicalRow[]
): readonly [text: readonly CanonicalRow[], others: readonly CanonicalRow[]] {
  const isOther = (row: CanonicalRow) => row.some((value) => value !== null && isRawText(value));
  const others = list.filter(isOther);
  return [others.length === 0 ? list : list.filter((row) => !isOther(row)), others];
}

/** @returns false when a count shows that a row was not stored unchanged */
async function loadData(connection: Connection, table: ReplicaTable, list: readonly CanonicalRow[]): Promise<boolean> {
  const columns = table.codecs.map(({ name }) => quoteName(name)).join(',');
  const bytes = encode(table, list);
  const load = {
    sql: `LOAD DATA LOCAL INFILE 'rows' INTO TABLE ${quoteName(table.name)} CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (${columns})`,
    infileStreamFactory: () => Readable.from(packets(bytes))
  };
  const [result] = await connection.query<ResultSetHeader>(load).catch((caught: unknown) => {
    // A row that is too wide for its page, say: by INSERT it is named.
    if (refusalOf(caught) === null) throw caught;
    return [{ info: '', affectedRows: 0 }];
  });
  const figures = /^Records: (\d+) +Deleted: 0 +Skipped: 0 +Warnings: 0/.exec(result.info ?? '');
  return figures !== null && Number(figures[1]) === list.length && result.affectedRows === list.length;
}

function* packets(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PACKET_BYTES) yield bytes.subarray(at, at + PACKET_BYTES);
}

/** Encodes rows as a LOAD DATA file: binary columns as bytes, text as UTF-8. */
function encode(table: ReplicaTable, list: readonly CanonicalRow[]): Buffer {
  const mixed = hasBytes(table);
  const asBytes = (text: string) => Buffer.from(toField(text), 'utf8').toString('latin1');
  // Numbers and dates were checked against patterns: there is nothing in them to escape.
  const printers = table.codecs.map((codec) => {
    if (!isFree(codec)) return (text: string) => text;
    return mixed && !isByteKind(codec) ? asBytes : toField;
  });
  let lines = '';
  for (const row of list) {
    for (let at = 0; at < row.length; at++) {
      const value = row[at]!;
      lines += at === 0 ? '' : '\t';
      lines += value === null ? toField(null) : printers[at]!(value);
    }
    lines += '\n';
  }
  return Buffer.from(lines, mixed ? 'latin1' : 'utf8');
}

async function insertStrictly(
  connection: Connection,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<void> {
  try {
    await insertRows(connection, table, list);
  } catch (caught) {
    const words = refusalOf(caught);
    if (words === null) throw caught;
    const { errno } = caught as { errno: number };
    const reason = `table ${table.name} cannot hold a row: ${words}`;
    throw new PlatformError('ROW_REFUSED', { reason, table: table.name, errno }, { cause: caught });
  }
}
