import { type Connection, quoteName, refusalOf } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { TableRow } from '../state/rows.ts';
import { Lookups } from './lookups.ts';
import type { PreparedBlocks } from './preparer.ts';
import { encodeColumns, encodeRows, textsOf, tupleOf } from './row-encoder.ts';
import { insert, writeBalances } from './row-writer.ts';
import { writeTokens } from './token-rows.ts';

/** Table and action of a row that MariaDB refused. */
interface Place {
  readonly table?: string | undefined;
  readonly action?: number;
}

/** Statements that name the table that they write. */
const WRITES = /^\s*(?:\/\*.*?\*\/\s*)?(?:INSERT(?: IGNORE)? INTO|UPDATE|DELETE(?: \w+)? FROM)\s+`?(\w+)/i;

/**
 * Finds the row that MariaDB refuses: writes blocks once more, row by row where a statement is refused. The caller ends
 * the transaction.
 *
 * @param caught the error of the driver
 * @returns ROWS_REFUSED naming table, action and transaction; null when MariaDB did not refuse, or no longer refuses
 */
export async function findRefusedRows(
  connection: Connection,
  prepared: PreparedBlocks,
  caught: unknown
): Promise<PlatformError | null> {
  if (!isRefused(caught)) return null;
  await connection.query('ROLLBACK');
  await connection.query('START TRANSACTION');
  let table: string | undefined;
  try {
    for await (const place of refusals(connection, prepared)) {
      ({ table } = place);
      if ('refusal' in place) return refusedRows(place.refusal, place, prepared);
    }
    return null;
  } catch (again) {
    return isRefused(again) ? refusedRows(again, { table: tableOf(again) ?? table }, prepared) : null;
  }
}

/**
 * Returns ROWS_REFUSED if MariaDB refused a statement for its content; null for any other failure. @param where the
 * place that the statement writes
 */
export function refusedStatement(caught: unknown, where = ''): PlatformError | null {
  if (caught instanceof PlatformError || !isRefused(caught)) return null;
  const of = where === '' ? '' : ` of ${where}`;
  return refusedRows(caught, { table: tableOf(caught) }, undefined, of);
}

/**
 * Returns whether MariaDB answered and refused a statement for its content. A missing right of the account does not
 * count.
 */
function isRefused(caught: unknown): boolean {
  const { code = '' } = Object(caught) as { code?: string };
  return refusalOf(caught) !== null && !/ACCESS_DENIED|ER_BAD_DB/.test(code);
}

function tableOf(caught: unknown): string | undefined {
  return WRITES.exec((caught as { sql?: string }).sql ?? '')?.[1];
}

function refusedRows(caught: unknown, { table, action }: Place, prepared?: PreparedBlocks, of = ''): PlatformError {
  const hash = action === undefined || !prepared ? undefined : transactionOf(action, prepared.rows);
  const what = table === undefined ? 'a statement' : `rows of the table ${table}`;
  const whose = action === undefined ? '' : `, action ${action}${hash === undefined ? '' : ` of transaction ${hash}`}`;
  const blocks = prepared?.executed.map(({ block }) => block.height) ?? [];
  const where = whose === '' && blocks.length > 0 ? `, blocks ${blocks[0]} to ${blocks.at(-1)}` : whose;
  const reason = `MariaDB refuses ${what}${of}${where}: ${refusalOf(caught)}`;
  return new PlatformError('ROWS_REFUSED', { reason, table, action, transaction: hash }, { cause: caught });
}

/** Returns the hash of the transaction of an action. */
function transactionOf(action: number, rows: readonly TableRow[]): string | undefined {
  const columnsOf = (table: string, column: string, value: unknown) =>
    rows.find((row) => row.table === table && row.columns[column] === value)?.columns;
  const { tx_index: index = null } = columnsOf('actions', 'action_index', action) ?? {};
  const hash = index === null ? undefined : columnsOf('transactions', 'tx_index', index)?.['tx_hash_id'];
  return hash === undefined ? undefined : String(hash);
}

/**
 * Writes what `IndexerStore` writes, one statement after the other. Yields each table, and the first row that is
 * refused.
 */
async function* refusals(
  connection: Connection,
  { executed, rows, changes, tokens, balances }: PreparedBlocks
): AsyncGenerator<Place & { readonly refusal?: unknown }> {
  const lookups = new Lookups();
  await lookups.restart(connection);
  await lookups.prepare(connection, textsOf([...rows, ...changes]));
  for (const [table, { columns, tuples }] of encodeRows(rows, lookups)) {
    yield { table };
    const refused = await firstRefused(connection, tuples, (some) => insert(connection, table, columns, some));
    if (!refused) continue;
    const row = rows.filter((each) => each.table === table)[refused.at];
    yield { table, action: Number(row?.columns['action_index']), refusal: refused.caught };
  }
  for (const { table, actionIndex, columns } of changes) {
    yield { table };
    const values = encodeColumns(table, columns, lookups);
    const sql = `UPDATE ${quoteName(table)} SET ? WHERE action_index = ?`;
    const refused = await firstRefused(connection, [values], () => connection.query(sql, [values, actionIndex]));
    if (refused) yield { table, action: actionIndex, refusal: refused.caught };
  }
  yield { table: 'chain_blocks' };
  const chain = executed.map(({ block }) => tupleOf([block.height, block.hash]));
  await insert(connection, 'chain_blocks', ['block_index', 'block_hash'], chain);
  yield { table: 'tokens' };
  await writeTokens(connection, tokens);
  yield { table: 'balances' };
  await writeBalances(connection, balances);
}

/**
 * Writes rows, and halves them where they are refused. @returns the index of the first that is refused alone; null when
 * none is
 */
async function firstRefused<T>(
  connection: Connection,
  rows: readonly T[],
  write: (some: readonly T[]) => Promise<unknown>
): Promise<{ readonly at: number; readonly caught: unknown } | null> {
  await connection.query('SAVEPOINT before_rows');
  try {
    if (rows.length > 0) await write(rows);
    return null;
  } catch (caught) {
    if (!isRefused(caught)) throw caught;
    if (rows.length === 1) return { at: 0, caught };
    await connection.query('ROLLBACK TO before_rows');
  }
  const half = Math.ceil(rows.length / 2);
  const first = await firstRefused(connection, rows.slice(0, half), write);
  if (first) return first;
  const second = await firstRefused(connection, rows.slice(half), write);
  return second && { at: half + second.at, caught: second.caught };
}
