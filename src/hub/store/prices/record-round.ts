import { type Connection, rows } from '../../../db/connection.ts';
import { judgeRound, type KnownPrice } from '../../oracle/judge.ts';
import type { FoundRound } from '../../oracle/oracle.ts';
import { PAIRS } from '../../oracle/pairs.ts';
import { readPrice } from '../../oracle/price.ts';
import { selectBitcoinHeight } from '../chain-tips.ts';
import { insertOwnRound, lastOwnPrices } from './prices.ts';
import type { Refusal } from './ranks.ts';

/** Keeps of each pair the median of what the sources said; a pair without a price is `skipped`. */
export async function recordRound(connection: Connection, found: FoundRound): Promise<Refusal> {
  const known = new Map<string, KnownPrice>();
  for (const { coin_pair: pair, price, carried, carried_at: carriedAt } of await lastOwnPrices(connection, PAIRS)) {
    const last = readPrice(price);
    if (last !== null) known.set(pair, { last, carried: readPrice(carried) ?? last, carriedAt });
  }
  return await insertOwnRound(connection, {
    round_number: await roundAt(connection, found),
    block_timestamp: Math.floor(found.now / 1_000),
    reference_block: await selectBitcoinHeight(connection),
    validator_count: 1,
    consensus_proof: null,
    source_chain: null,
    source_action_index: null,
    push_generation: 0,
    pairs: judgeRound(found, known, found.rules)
  });
}

/** A round's time that is further ahead tells of a clock that was set back. */
const MOST_AHEAD_S = 60;

/**
 * Returns the number of the round at a time: rounds since 1970, or the number after the last one where that is not
 * higher, as after the interval was made longer or the clock was set back. Within a round it is that of the one that is
 * there.
 */
async function roundAt(connection: Connection, { now, intervalMs, isNext }: FoundRound): Promise<number> {
  const round = Math.floor(now / intervalMs);
  const [last] = await rows<{ number: number; time: number }>(
    connection,
    `SELECT round_number AS number, block_timestamp AS time FROM price_snapshots
      WHERE origin = 'hub' ORDER BY round_number DESC LIMIT 1`
  );
  if (!last || last.number < round) return round;
  const isOver = last.time * 1_000 < round * intervalMs || last.time > now / 1_000 + MOST_AHEAD_S;
  return last.number + (isOver || isNext ? 1 : 0);
}
