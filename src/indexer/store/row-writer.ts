import { quoteName, type Statements } from '../../db/connection.ts';
import { chunks, write } from '../../db/statement-batch.ts';
import { tupleOf } from './row-encoder.ts';

/** Address and ticker of a balance. */
export interface BalanceIds {
  readonly addressId: number;
  readonly tickId: number;
}

/** Row of `balances` that a block deleted. */
export interface EndedBalance extends BalanceIds {
  readonly height: number;
  /** Id of the row; null if it is older than all the blocks that are written together. */
  readonly id: number | null;
}

/** Balance as blocks leave it. */
export interface BalanceRow extends BalanceIds {
  /** Amount; null if it has no row. */
  readonly amount: string | null;
  /** Whether it had a row before. */
  readonly hadRow: boolean;
  /** Id of a new row; null if it keeps the row that it had. */
  readonly id: number | null;
}

/** Writes rows, in statements that are small enough for any server. */
export async function insert(
  batch: Statements,
  table: string,
  columns: readonly string[],
  tuples: readonly string[],
  onDuplicate = ''
): Promise<void> {
  const into = `INSERT INTO ${table} (${columns.map(quoteName).join(', ')}) VALUES`;
  // One statement is under way while the next is made, so memory holds two.
  let sent = Promise.resolve();
  for (const slice of chunks(tuples, (tuple) => tuple)) {
    const statement = `${into} ${slice.join(',')} ${onDuplicate}`;
    await sent;
    sent = write(batch, statement);
  }
  await sent;
}

/**
 * Writes balances as they are now. A balance of 0 has no row.
 *
 * Balances that have rows are updated, not tried as new ones: MariaDB would roll each attempt back.
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
    await write(batch, `UPDATE ${joined(rows)} SET b.amount = w.value`);
}

/** Notes rows of balances before they are deleted: a rollback restores them under their ids. */
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
       SELECT w.value, b.address_id, b.tick_id, b.id FROM ${joined(rows)}`
    );
}

const tuple = ({ addressId, tickId, amount }: BalanceRow) => tupleOf([addressId, tickId, amount]);

/** Returns a join of balances with a list of tuples, whose columns its first row names. */
function joined(tuples: readonly string[]): string {
  const wanted = `SELECT 0 AS address_id, 0 AS tick_id, '' AS value UNION ALL VALUES ${tuples.join(',')}`;
  return `(${wanted}) w STRAIGHT_JOIN balances b ON b.address_id = w.address_id AND b.tick_id = w.tick_id`;
}
