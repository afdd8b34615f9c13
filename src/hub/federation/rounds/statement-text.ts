import type { PriceRound } from '../../../consensus/price-round.ts';
import type { DecidedRound } from './decide.ts';

/** Returns the prices of a round as validators sign them for the ledger; null where it has none. */
export function priceRoundOf({ round, timestamp, height, pairs }: DecidedRound): PriceRound | null {
  const priced = pairs.flatMap(({ pair, price }) => (price === null ? [] : [{ pair, price }]));
  const sorted = priced.toSorted((a, b) => (a.pair < b.pair ? -1 : 1));
  return sorted.length === 0 ? null : { round, timestamp, btc_block_height: height, pairs: sorted };
}

/** Returns the bytes that hubs sign of a round; null where it has no price. @see signersOf, which readers check them by */
export function statementOf(decided: DecidedRound): Uint8Array | null {
  const round = priceRoundOf(decided);
  return round && new TextEncoder().encode(JSON.stringify(round));
}
