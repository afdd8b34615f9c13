import type { PricedCoin } from './pairs.ts';

/** A price in hundred-millionths: whole numbers of 10^-8. */
export type Price = bigint;

const PLACES = 8;
const ONE = 10n ** BigInt(PLACES);
/** Prices are above 0 and at most 10^10. */
const MOST = 10n ** 10n * ONE;
/** Two prices that are further apart than this many percent of their mean say nothing. */
const MAX_DEVIATION_PERCENT = 5n;
/** A round's price is at most this many percent above or below the last one. */
export const MAX_STEP_PERCENT = 25;
/**
 * Limit for a price that only one of several sources gives: percent of the last price that two sources carried, for each day since
 * then.
 */
export const MAX_STEP_ALONE_PERCENT = 5;
/** Bounds of a first price, in a currency of any worth between the dollar and the won. */
const PLAUSIBLE: Readonly<Record<PricedCoin, readonly [Price, Price]>> = {
  BTC: [ONE, 10n ** 10n * ONE],
  LTC: [ONE / 1_000n, 10n ** 7n * ONE],
  DOGE: [ONE / 1_000_000n, 10n ** 5n * ONE]
};

/** Reads the price in a source's JSON, a number or a decimal text; null for anything else. Halves are rounded up. */
export function readPrice(value: unknown): Price | null {
  // A double's shortest text has an exponent below 10^-6 and from 10^21 on.
  const text = typeof value === 'number' && Number.isFinite(value) ? value.toFixed(PLACES + 1) : value;
  const [, whole, fraction = ''] = (typeof text === 'string' && /^(\d{1,11})(?:\.(\d{1,40}))?$/.exec(text)) || [];
  if (whole === undefined) return null;
  const digits = fraction.padEnd(PLACES + 1, '0');
  const price = BigInt(whole + digits.slice(0, PLACES)) + (digits[PLACES]! >= '5' ? 1n : 0n);
  return price > 0n && price <= MOST ? price : null;
}

/** Formats a price as a decimal with 8 places. */
export function formatPrice(price: Price): string {
  return `${price / ONE}.${String(price % ONE).padStart(PLACES, '0')}`;
}

/** Returns the price in the middle; of two middles their mean, and null where they are too far apart, or nothing is there. */
export function medianPrice(prices: readonly Price[]): Price | null {
  const sorted = prices.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) return null;
  const sum = low + high;
  // Each is half of their distance from the mean: 100 (high - low) / 2 > 5 (sum / 2)
  if ((high - low) * 100n > sum * MAX_DEVIATION_PERCENT) return null;
  return (sum + 1n) / 2n;
}

/** Returns a price, or the bound that it is beyond: a whole number of percent of another one. */
export function boundTo(price: Price, other: Price, percent: number): Price {
  const step = BigInt(Math.min(percent, 100));
  const [least, most] = [(other * (100n - step)) / 100n, (other * (100n + BigInt(percent))) / 100n];
  return price < least ? least : price > most ? most : price;
}

/** Returns whether a first price, in any of the fiats, can be one of the coin: a wrong unit or a made-up number is out of these bounds. */
export function isPlausible(coin: PricedCoin, price: Price): boolean {
  const [least, most] = PLAUSIBLE[coin];
  return price >= least && price <= most;
}

/** Returns the difference of the price that is furthest off, in percent of a price, with 4 places. */
export function widestDeviation(quoted: readonly Price[], price: Price): string {
  const widest = quoted.reduce((most, each) => {
    const off = each > price ? each - price : price - each;
    return off > most ? off : most;
  }, 0n);
  const parts = (widest * 100n * 10_000n + price / 2n) / price;
  return `${parts / 10_000n}.${String(parts % 10_000n).padStart(4, '0')}`;
}
