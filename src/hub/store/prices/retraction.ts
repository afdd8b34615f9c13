import { type Connection, rows } from '../../../db/connection.ts';
import { retractOraclePrices } from './oracle-prices.ts';
import { insertRemoval, insertRemovalsOfStrangers } from './price-removals.ts';
import { replaceRound } from './prices.ts';
import type { StreamedTable } from './streamed-tables.ts';

/** Rows that an indexer takes back after a reorg: those of a chain's actions that an older generation pushed. */
interface Retraction {
  readonly chain: string;
  readonly from: number;
  /** The last action; null: all from the first one on. */
  readonly to: number | null;
  /** Rows of this generation and later ones stay; null: none stays. */
  readonly generation: number | null;
}

/**
 * Removes what an indexer takes back. A stranger takes back what strangers told; whoever is trusted takes that back whatever generation
 * it claims. A round that another chain carries too stays.
 *
 * @returns how many rows of each table
 */
export async function retractPrices(
  connection: Connection,
  { chain, from, to, generation }: Retraction,
  trusted: boolean
): Promise<Readonly<Record<StreamedTable, number>>> {
  const below = generation ?? Number.MAX_SAFE_INTEGER;
  const inRange = (column: string) => `source_chain = ? AND ${column} BETWEEN ? AND ?`;
  const range = [chain, from, to ?? Number.MAX_SAFE_INTEGER];
  const isOld = trusted ? '(push_generation < ? OR NOT trusted)' : 'push_generation < ? AND NOT trusted';
  const values = [...range, below];
  const note = async (table: StreamedTable, column: string) => {
    if (trusted) await insertRemovalsOfStrangers(connection, table, { where: inRange(column), values: range, below });
    const place = { source_chain: chain, from_action_index: from, to_action_index: to, round_number: null };
    await insertRemoval(connection, { table, ...place, retraction_generation: below }, trusted);
  };
  const ofRounds = `${inRange('source_action_index')} AND ${isOld}`;
  const gone = await rows<{ round: number }>(
    connection,
    `SELECT round_number AS round FROM price_snapshots WHERE ${ofRounds}`,
    values
  );
  if (gone.length > 0) {
    await note('price_snapshots', 'source_action_index');
    await connection.query(`DELETE FROM price_snapshots WHERE ${ofRounds}`, values);
  }
  await connection.query(`DELETE FROM price_carriers WHERE ${ofRounds}`, values);
  await restoreRounds(connection, new Set(gone.map(({ round }) => Number(round))));
  const ofFeeds = `${inRange('action_index')} AND ${isOld}`;
  const [feeds] = await rows<{ n: number }>(
    connection,
    `SELECT COUNT(*) AS n FROM oracle_prices WHERE ${ofFeeds}`,
    values
  );
  if (Number(feeds?.n) > 0) await note('oracle_prices', 'action_index');
  return {
    price_snapshots: gone.length,
    oracle_prices: await retractOraclePrices(connection, ofFeeds, values)
  };
}

/** Keeps rounds that were taken back by what another chain says of them. */
async function restoreRounds(connection: Connection, rounds: ReadonlySet<number>): Promise<void> {
  for (const round of rounds) {
    const [carrier] = await rows<{ chain: string; pushed: string; trusted: number }>(
      connection,
      `SELECT source_chain AS chain, pushed, trusted FROM price_carriers WHERE round_number = ?
        ORDER BY trusted DESC, source_chain LIMIT 1`,
      [round]
    );
    if (!carrier) continue;
    await replaceRound(connection, JSON.parse(carrier.pushed), 'validators', Boolean(carrier.trusted), undefined);
    await connection.query('DELETE FROM price_carriers WHERE round_number = ? AND source_chain = ?', [
      round,
      carrier.chain
    ]);
  }
}
