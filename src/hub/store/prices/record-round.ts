import type { Connection } from '../../../db/core/connection.ts';
import type { FoundRound } from '../../oracle/oracle.ts';
import { boundStep, formatPrice, medianPrice, readPrice } from '../../oracle/price.ts';
import { COINS, FIATS } from '../../oracle/sources.ts';
import { selectTips } from '../chain-tips.ts';
import { insertRound, lastPrices, newestSnapshots, type Refusal } from './prices.ts';

const PAIRS = COINS.flatMap((coin) => FIATS.map((fiat) => `${coin}/${fiat}`));

/** Keeps of each pair the median of what the sources said; a pair without a price is `skipped`. */
export async function recordRound(connection: Connection, { now, intervalMs, found }: FoundRound): Promise<Refusal> {
  const round = await roundAt(connection, now, intervalMs);
  const last = new Map(
    (await lastPrices(connection, PAIRS)).map(({ coin_pair, price }) => [coin_pair, readPrice(price)])
  );
  const tips = await selectTips(connection);
  const bitcoin = tips.find(({ coin, network }) => coin === 'BTC' && network === 'mainnet');
  const pairs = PAIRS.map((pair) => {
    const median = medianPrice(found.flatMap((prices) => prices.get(pair) ?? []));
    if (median === null) return { pair, price: '0', status: 'skipped' as const };
    return { pair, price: formatPrice(boundStep(median, last.get(pair) ?? null)) };
  });
  return await insertRound(connection, {
    round_number: round,
    block_timestamp: Math.floor(now / 1_000),
    reference_block: bitcoin?.block_height ?? null,
    validator_count: 1,
    consensus_proof: null,
    source_chain: null,
    source_action_index: null,
    push_generation: 0,
    pairs
  });
}

/**
 * The number of the round at a time in epoch milliseconds: rounds since 1970, or the number after the last one where that is not
 * higher, as after the interval was made longer. Within a round it is that of the one that is there.
 */
async function roundAt(connection: Connection, now: number, intervalMs: number): Promise<number> {
  const round = Math.floor(now / intervalMs);
  const [last] = await newestSnapshots(connection, null, 1);
  if (!last || last.round_number < round) return round;
  const isOver = last.block_timestamp * 1_000 < round * intervalMs;
  return last.round_number + (isOver ? 1 : 0);
}
