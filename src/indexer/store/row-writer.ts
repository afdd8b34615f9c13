import { quoteName } from '../../db/core/connection.ts';
import { chunks, type Statements, write } from '../../db/core/statement-batch.ts';
import { tupleOf } from './row-encoder.ts';

/** Whose balance of what. */
export interface BalanceIds {
  readonly addressId: number;
  readonly tickId: number;
}

/** A row of `balances` that a block took away. */
export interface EndedBalance extends BalanceIds {
  readonly height: number;
  /** Null of one that was there before all blocks that are written with that one. */
  readonly id: number | null;
}

/** A balance as blocks leave it. */
export interface BalanceRow extends BalanceIds {
  /** Null: it has no row. */
  readonly amount: string | null;
  /** Whether it had a row before. */
  readonly hadRow: boolean;
  /** Of a row that is new; null: the row that it had stays. */
  readonly id: number | null;
}

/** Writes rows in statements that a server takes whatever is in them. */
export async function insert(
  batch: Statements,
  table: string,
  columns: readonly string[],
  tuples: readonly string[],
  onDuplicate = ''
): Promise<void> {
  const into = `INSERT INTO ${table} (${columns.map(quoteName).join(', ')}) VALUES`;
  // One is on its way while the next is made: no more of them are in memory.
  let sent = Promise.resolve();
  for (const slice of chunks(tuples, (tuple) => tuple)) {
    const statement = `${into} ${slice.join(',')} ${onDuplicate}`;
    await sent;
    sent = write(batch, statement);
  }
  await sent;
}

/**
 * Writes balances as they are now; one of nothing has no row.
 *
 * Those that have rows are not tried as new ones: MariaDB would take each attempt back.
 */
export async function writeBalances(batch: Statements, balances: readonly BalanceRow[]): Promise<void> {
  const made = balances.filter(({ id }) => id !== null);
  const kept = balances.filter(({ id, amount, hadRow }) => id === null && amount !== null && hadRow);
  const gone = balances.filter(({ id, amount, hadRow }) => hadRow && (id !== null || amount === null));
  for (const rows of chunks(gone.map(tuple), (text) => text)) await write(batch, `DELETE b FROM ${joined(rows)}`);
  const columns = ['address_id', 'tick_id', 'amount', 'id'];
  const overwrite = 'ON DUPLICATE KEY UPDATE amount = VALUES(amount)';
  await insert(
    batch,
    'balances',
    columns,
    made.map(({ addressId, tickId, amount, id }) => tupleOf([addressId, tickId, amount, id])),
    overwrite
  );
  for (const rows of chunks(kept.map(tuple), (text) => text))
    await write(batch, `UPDATE ${joined(rows)} SET b.amount = w.said`);
}

/** Notes rows of balances that are gone, before they are: a rollback brings them back under their ids. */
export async function writeEnded(batch: Statements, ended: readonly EndedBalance[]): Promise<void> {
  const columns = ['block_index', 'address_id', 'tick_id', 'id'];
  const known = ended.filter(({ id }) => id !== null);
  const tuples = known.map(({ height, addressId, tickId, id }) => tupleOf([height, addressId, tickId, id]));
  await insert(batch, 'balance_undo', columns, tuples);
  const before = ended.filter(({ id }) => id === null);
  const wanted = before.map(({ height, addressId, tickId }) => tupleOf([addressId, tickId, String(height)]));
  for (const rows of chunks(wanted, (text) => text))
    await write(
      batch,
      `INSERT INTO balance_undo (block_index, address_id, tick_id, id)
       SELECT w.said, b.address_id, b.tick_id, b.id FROM ${joined(rows)}`
    );
}

const tuple = ({ addressId, tickId, amount }: BalanceRow) => tupleOf([addressId, tickId, amount]);

/** Rows of balances, found by a list of theirs; the first of it names its columns. */
function joined(tuples: readonly string[]): string {
  const wanted = `SELECT 0 AS address_id, 0 AS tick_id, '' AS said UNION ALL VALUES ${tuples.join(',')}`;
  return `(${wanted}) w STRAIGHT_JOIN balances b ON b.address_id = w.address_id AND b.tick_id = w.tick_id`;
}
