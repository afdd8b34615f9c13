import { quoteName } from '../../db/core/connection.ts';
import { chunks, type Statements, write } from '../../db/core/statement-batch.ts';
import type { BalanceRow } from './preparer.ts';
import { tupleOf } from './row-encoder.ts';

/** Writes rows in statements that a server takes whatever is in them. */
export async function insert(
  batch: Statements,
  table: string,
  columns: readonly string[],
  tuples: readonly string[],
  onDuplicate = ''
): Promise<void> {
  const into = `INSERT INTO ${table} (${columns.map(quoteName).join(', ')}) VALUES`;
  const statements = [...chunks(tuples, (tuple) => tuple)].map((slice) => `${into} ${slice.join(',')} ${onDuplicate}`);
  await Promise.all(statements.map((statement) => write(batch, statement)));
}

/**
 * Writes balances as they are now; one of nothing has no row.
 *
 * Those that have rows are not tried as new ones: MariaDB would take each attempt back.
 */
export async function writeBalances(batch: Statements, balances: readonly BalanceRow[]): Promise<void> {
  const [made, kept, gone]: [BalanceRow[], BalanceRow[], BalanceRow[]] = [[], [], []];
  for (const row of balances) (row.amount === NOTHING ? gone : row.isNew ? made : kept).push(row);
  const columns = ['address_id', 'tick_id', 'amount'];
  await insert(batch, 'balances', columns, made.map(tuple), 'ON DUPLICATE KEY UPDATE amount = VALUES(amount)');
  for (const rows of chunks(kept.map(tuple), (text) => text))
    await write(batch, `UPDATE ${joined(rows)} SET b.amount = w.amount`);
  for (const rows of chunks(gone.map(tuple), (text) => text)) await write(batch, `DELETE b FROM ${joined(rows)}`);
}

const NOTHING = '0';
const tuple = ({ addressId, tickId, amount }: BalanceRow) => tupleOf([addressId, tickId, amount]);

/** Rows of balances, found by a list of theirs; the first of it names its columns. */
function joined(tuples: readonly string[]): string {
  const wanted = `SELECT 0 AS address_id, 0 AS tick_id, '' AS amount UNION ALL VALUES ${tuples.join(',')}`;
  return `(${wanted}) w STRAIGHT_JOIN balances b ON b.address_id = w.address_id AND b.tick_id = w.tick_id`;
}
