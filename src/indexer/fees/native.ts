import { multiplyRatio, parseAmount, roundHalfUp } from '../../consensus/amount.ts';
import type { Rules } from '../profile/rules.ts';
import type { PriceRound } from '../state/facts.ts';

/** Greatest age at which a price counts, in seconds. */
export const OLDEST_PRICE_S = 1_800;
/** Least part of the expected coins that suffices, in hundredths: prices move while a transaction waits. */
export const LEAST_PERCENT = 95n;
const COIN_PLACES = 8;
const PRICE_PLACES = 18;

/** Dollar prices of one unit of the gas token and of the coin in one round, with 18 decimals. */
export interface CoinPrices {
  readonly round: number;
  readonly gasToken: bigint;
  readonly coin: bigint;
}

/**
 * Returns the prices by which fees are paid in the coin, or the status of an action where there are none.
 *
 * @param rounds the rounds, the highest number first
 * @param at epoch seconds from which the age of a price is counted
 */
export function coinPrices(
  [round]: readonly PriceRound[],
  { rules: { gasTick, coin }, at }: { readonly rules: Pick<Rules, 'gasTick' | 'coin'>; readonly at: number }
): CoinPrices | string {
  const isCurrent = round !== undefined && at - round.timestamp <= OLDEST_PRICE_S;
  const prices: bigint[] = [];
  for (const ticker of [gasTick, coin]) {
    const text = isCurrent ? round.pairs.find(({ pair }) => pair === `${ticker}/USD`)?.price : undefined;
    if (text === undefined)
      return `no current oracle price for ${ticker}/USD (missing or stale beyond ${OLDEST_PRICE_S}s)`;
    const price = parseAmount(text);
    if (!price) return `invalid oracle price for ${ticker}/USD`;
    prices.push(price);
  }
  return { round: round!.round, gasToken: prices[0]!, coin: prices[1]! };
}

/** Returns the coins that an amount of the gas token is worth, and the fewest that suffice. */
export function nativeFee(
  amount: bigint,
  { gasToken, coin }: CoinPrices
): { readonly expected: bigint; readonly least: bigint } {
  const expected = roundHalfUp(multiplyRatio(amount, gasToken, coin, PRICE_PLACES), COIN_PLACES);
  return { expected, least: roundHalfUp((expected * LEAST_PERCENT) / 100n, COIN_PLACES) };
}
