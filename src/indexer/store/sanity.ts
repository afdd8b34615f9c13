import { formatAmount, parseAmount } from '../../consensus/amount.ts';
import { type Connection, rows } from '../../db/core/connection.ts';
import { PlatformError } from '../../errors.ts';

const EXACT = 'CAST(amount AS DECIMAL(60,18))';

/** A signed decimal of the database. */
export function readDecimal(text: string | number): bigint {
  const digits = String(text);
  const amount = parseAmount(digits.replace('-', '')) ?? 0n;
  return digits.startsWith('-') ? -amount : amount;
}

/** Rows of each ticker that the sums of its check are made of. */
export type TickRows = ReadonlyMap<number, number>;

/**
 * For each ticker: supply = credits - debits + escrows = balances + escrows.
 *
 * @throws {PlatformError} LEDGER_INSANE naming the ticker and the sums; the caller rolls back
 */
export async function checkSanity(
  connection: Pick<Connection, 'query'>,
  tickIds: readonly number[]
): Promise<TickRows> {
  if (tickIds.length === 0) return new Map();
  const sumOf = (table: string) =>
    `(SELECT COALESCE(SUM(${EXACT}), 0) FROM ${table} s WHERE s.tick_id = t.tick_id) AS ${table}`;
  const countOf = (table: string) => `(SELECT COUNT(*) FROM ${table} c WHERE c.tick_id = t.tick_id)`;
  const tables = ['credits', 'debits', 'escrows', 'balances'];
  const found = await rows<Checked>(
    connection,
    `SELECT t.tick_id, i.tick, t.supply, ${tables.map(sumOf).join(', ')}, ${tables.map(countOf).join(' + ')} AS size
     FROM tokens t JOIN index_tickers i ON i.id = t.tick_id WHERE t.tick_id IN (?)`,
    [tickIds]
  );
  for (const row of found) compareSums(row);
  return new Map(found.map(({ tick_id, size }) => [Number(tick_id), Number(size)]));
}

type Checked = Record<'tick' | 'supply' | 'credits' | 'debits' | 'escrows' | 'balances', string> &
  Record<'tick_id' | 'size', number>;

function compareSums({ tick, ...sums }: Checked): void {
  const [supply, credits, debits, escrows, balances] = [
    ...[sums.supply, sums.credits, sums.debits, sums.escrows, sums.balances].map(readDecimal)
  ] as [bigint, bigint, bigint, bigint, bigint];
  const ledger = credits - debits + escrows;
  const held = balances + escrows;
  if (supply === ledger && supply === held) return;
  const [name, sum] = supply === ledger ? ['balances and escrows', held] : ['the ledger', ledger];
  const reason = `SANITY CHECK FAILED: supply of ${tick} is ${formatAmount(supply)}, ${name} ${formatAmount(sum)}`;
  throw new PlatformError('LEDGER_INSANE', { reason, tick });
}
