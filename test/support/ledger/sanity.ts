import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import { type Connection, rows } from '../../../src/db/connection.ts';
import { PlatformError } from '../../../src/errors.ts';

const EXACT = 'CAST(amount AS DECIMAL(60,18))';

/** Credits less debits of each (address, ticker) pair of some tickers, from the ledger itself. */
export async function ledgerTotals(
  connection: Connection,
  ticks: readonly number[]
): Promise<{ readonly addressId: number; readonly tickId: number; readonly amount: bigint }[]> {
  if (ticks.length === 0) return [];
  const list = ticks.join(', ');
  const found = await rows<{ address_id: number; tick_id: number; total: string }>(
    connection,
    `SELECT address_id, tick_id, SUM(moved) AS total FROM (
       SELECT address_id, tick_id, ${EXACT} AS moved FROM credits WHERE tick_id IN (${list})
       UNION ALL SELECT address_id, tick_id, -${EXACT} FROM debits WHERE tick_id IN (${list})) ledger
     GROUP BY address_id, tick_id`
  );
  return found.map(({ address_id, tick_id, total }) => {
    return { addressId: address_id, tickId: tick_id, amount: exact(total) };
  });
}

/**
 * For each ticker: supply = credits less debits = sum of balances.
 *
 * @throws {PlatformError} INTERNAL naming the ticker; the caller rolls back
 */
export async function checkSanity(connection: Connection, ticks: readonly number[]): Promise<void> {
  if (ticks.length === 0) return;
  const totals = new Map<number, bigint>();
  for (const { tickId, amount } of await ledgerTotals(connection, ticks))
    totals.set(tickId, (totals.get(tickId) ?? 0n) + amount);
  const found = await rows<{ tick_id: number; supply: string; held: string }>(
    connection,
    `SELECT tick_id, supply, (SELECT COALESCE(SUM(${EXACT}), 0) FROM balances b WHERE b.tick_id = t.tick_id) AS held
     FROM tokens t WHERE tick_id IN (${ticks.join(', ')})`
  );
  for (const { tick_id: tickId, supply, held } of found) {
    const total = totals.get(tickId) ?? 0n;
    if (exact(supply) !== total || exact(held) !== total) {
      const reason = `SANITY CHECK FAILED: supply ${supply}, credits less debits ${formatAmount(total)}, balances ${held}`;
      throw new PlatformError('INTERNAL', { reason, tickId });
    }
  }
}

function exact(text: string): bigint {
  const magnitude = parseAmount(String(text).replace('-', '')) ?? 0n;
  return String(text).startsWith('-') ? -magnitude : magnitude;
}
