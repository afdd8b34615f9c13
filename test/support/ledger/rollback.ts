import { formatAmount } from '../../../src/consensus/amount.ts';
import { type Connection, rows } from '../../../src/db/connection.ts';
import { checkSanity, ledgerTotals } from './sanity.ts';
import { ACTION_TABLES, BLOCK_TABLES } from './schema.ts';

/**
 * Takes back every block from a height on, the way an indexer does: not the inverse of what the blocks did.
 *
 * Lookups without a stamp, events, late rewards and refunds of older actions stay, and so do changes made in place; balances and
 * supplies are computed anew; ids of addresses and tickers are dealt again. Runs inside the caller's transaction.
 */
export async function rollbackLedger(connection: Connection, height: number): Promise<void> {
  const run = (sql: string) => connection.query(sql);
  const [first] = await rows<{ action: number | null }>(
    connection,
    `SELECT MIN(action_index) AS action FROM actions WHERE block_index >= ${height}`
  );
  const action = first?.action ?? null;
  const touched = action === null ? [] : await touchedPairs(connection, action);
  if (action !== null) {
    await run(
      `DELETE FROM contract_emissions WHERE execution_index IN (SELECT execution_index FROM contract_executions WHERE action_index >= ${action})`
    );
    for (const table of [...ACTION_TABLES, 'tokens']) await run(`DELETE FROM ${table} WHERE action_index >= ${action}`);
  }
  for (const table of BLOCK_TABLES) await run(`DELETE FROM ${table} WHERE block_index >= ${height}`);
  for (const table of ['index_addresses', 'index_tickers'])
    await run(`DELETE FROM ${table} WHERE block_index >= ${height}`);
  await run(
    'DELETE FROM markets WHERE tick1_id NOT IN (SELECT id FROM index_tickers) OR tick2_id NOT IN (SELECT id FROM index_tickers)'
  );
  await rebuildBalances(connection, touched);
}

type Pair = readonly [addressId: number, tickId: number];

async function touchedPairs(connection: Connection, action: number): Promise<Pair[]> {
  const found = await rows<{ address_id: number; tick_id: number }>(
    connection,
    `SELECT address_id, tick_id FROM credits WHERE action_index >= ${action} UNION SELECT address_id, tick_id FROM debits WHERE action_index >= ${action}`
  );
  return found.map(({ address_id, tick_id }) => [address_id, tick_id]);
}

/** A pair that the ledger no longer names loses its row; a token whose supply moved forgets which action moved it. */
async function rebuildBalances(connection: Connection, pairs: readonly Pair[]): Promise<void> {
  if (pairs.length === 0) return;
  const ticks = [...new Set(pairs.map(([, tickId]) => tickId))];
  const totals = await ledgerTotals(connection, ticks);
  const touched = new Set(pairs.map(String));
  await connection.query('DELETE FROM balances WHERE (address_id, tick_id) IN (?)', [pairs]);
  const kept = totals.filter(({ addressId, tickId }) => touched.has(String([addressId, tickId])));
  if (kept.length > 0)
    await connection.query('INSERT INTO balances (address_id, tick_id, amount) VALUES ?', [
      kept.map(({ addressId, tickId, amount }) => [addressId, tickId, formatAmount(amount)])
    ]);
  const supplies = new Map(ticks.map((tickId) => [tickId, 0n]));
  for (const { tickId, amount } of totals) supplies.set(tickId, supplies.get(tickId)! + amount);
  for (const [tickId, supply] of supplies)
    await connection.query('UPDATE tokens SET supply = ?, last_action_index = action_index WHERE tick_id = ?', [
      formatAmount(supply),
      tickId
    ]);
  await checkSanity(connection, ticks);
}
