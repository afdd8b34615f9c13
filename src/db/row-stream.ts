import type { Connection as RawConnection } from 'mysql2';
import { type Connection, databaseError, type SqlRow } from './connection.ts';
import { isBinary, isFloating, toWireRows } from './row-codec.ts';
import type { TableRead } from './snapshot-plan.ts';

/**
 * Reads a query of any size with bounded memory: rows go to `onRow` in wire form as they arrive.
 *
 * @param onRow may return a promise: no more is read from the socket until it is settled
 * @param signal ends the read; the connection is then of no use any more
 * @throws {PlatformError} DATABASE_UNAVAILABLE, or what `onRow` threw, or the signal's reason
 */
export async function streamRows(
  connection: Connection,
  { columns, sql, values, table }: TableRead,
  onRow: (row: SqlRow) => Promise<void> | undefined,
  signal: AbortSignal
): Promise<void> {
  const special = columns.filter((column) => isBinary(column) || isFloating(column));
  const { connection: raw } = connection as unknown as { readonly connection: RawConnection };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => reject(signal.reason);
  const lose = (caught: Error) => reject(databaseError(caught, { table }));
  signal.throwIfAborted();
  signal.addEventListener('abort', stop, { once: true });
  raw.on('error', lose); // the driver tells a lost connection to no query that has no callback
  let paused = false;
  const take = (row: SqlRow): void => {
    if (special.length > 0) toWireRows([row], special);
    const pressure = onRow(row);
    if (!pressure || paused) return;
    paused = true;
    raw.pause();
    pressure.then(() => {
      paused = false;
      raw.resume();
    }, reject);
  };
  const query = raw.query({ sql, values: [...values] });
  query.on('result', (row) => {
    try {
      take(row as unknown as SqlRow);
    } catch (caught) {
      reject(caught);
    }
  });
  query.on('error', lose);
  query.on('end', () => resolve());
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    raw.off('error', lose);
  }
}
