/** A price in hundred-millionths: whole numbers of 10^-8. */
export type Price = bigint;

const PLACES = 8;
const ONE = 10n ** BigInt(PLACES);
/** Prices are above 0 and at most 10^10. */
const MOST = 10n ** 10n * ONE;
/** Two prices that are further apart than this many percent of their mean say nothing. */
const MAX_DEVIATION_PERCENT = 5n;
/** A round's price is at most this many percent above or below the last one. */
const MAX_STEP_PERCENT = 25n;

/** The price that a source's JSON says, a number or a decimal text; null for anything else. Halves are rounded up. */
export function readPrice(said: unknown): Price | null {
  // A double's shortest text has an exponent below 10^-6 and from 10^21 on.
  const text = typeof said === 'number' && Number.isFinite(said) ? said.toFixed(PLACES + 1) : said;
  const [, whole, fraction = ''] = (typeof text === 'string' && /^(\d{1,11})(?:\.(\d{1,40}))?$/.exec(text)) || [];
  if (whole === undefined) return null;
  const digits = fraction.padEnd(PLACES + 1, '0');
  const price = BigInt(whole + digits.slice(0, PLACES)) + (digits[PLACES]! >= '5' ? 1n : 0n);
  return price > 0n && price <= MOST ? price : null;
}

/** A decimal with 8 places. */
export function formatPrice(price: Price): string {
  return `${price / ONE}.${String(price % ONE).padStart(PLACES, '0')}`;
}

/** The price in the middle; of two middles their mean, and null where they are too far apart, or nothing is there. */
export function medianPrice(prices: readonly Price[]): Price | null {
  const sorted = prices.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) return null;
  const sum = low + high;
  // Each is half of their distance from the mean: 100 (high - low) / 2 > 5 (sum / 2)
  if ((high - low) * 100n > sum * MAX_DEVIATION_PERCENT) return null;
  return (sum + 1n) / 2n;
}

/** A price, or the bound that it is beyond. @param last the last one; null: there is none */
export function boundStep(price: Price, last: Price | null): Price {
  if (last === null) return price;
  const [least, most] = [(last * (100n - MAX_STEP_PERCENT)) / 100n, (last * (100n + MAX_STEP_PERCENT)) / 100n];
  return price < least ? least : price > most ? most : price;
}
