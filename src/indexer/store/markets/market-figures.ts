import { formatAmount } from '../../../consensus/amount.ts';

/** Trade of a pair. Amounts are counts of 10^-18. */
export interface PairTrade {
  readonly amount1: bigint;
  readonly amount2: bigint;
}

/** Trades from which the figures of a pair are computed. */
interface PairTrades {
  /** Newest valid match. */
  readonly last: PairTrade | null;
  /** Newest valid match that was a day old. */
  readonly dayAgo: PairTrade | null;
  /** Matches of the last day. */
  readonly day: readonly PairTrade[];
}

/** Seconds of the day that the figures cover. */
export const DAY_S = 86_400;

const PLACES = 8;
const SCALE = 10n ** BigInt(PLACES);
/** Factor from 8 decimals to the 18 of amounts. */
const TO_AMOUNT = 10n ** 10n;
/** 100 percent, in hundredths of a percent. */
const HUNDREDTHS = 10_000n;

/**
 * Returns the price of one unit of the divisor's side in units of the other, as a count of 10^-8 rounded half up; 0 if
 * either is 0.
 */
export function priceOf(amount: bigint, divisor: bigint): bigint {
  return divisor === 0n ? 0n : (2n * amount * SCALE + divisor) / (2n * divisor);
}

/** Formats a price as columns hold it: `0`, `1.5`. */
export function formatPrice(price: bigint): string {
  return formatAmount(price * TO_AMOUNT);
}

/** Returns the columns of a row of `markets` that follow from matches, for both sides. */
export function figuresOf({ last, dayAgo, day }: PairTrades): Record<string, string> {
  return Object.fromEntries(
    (['tick1', 'tick2'] as const).flatMap((side) => {
      const [own, other] = side === 'tick1' ? (['amount1', 'amount2'] as const) : (['amount2', 'amount1'] as const);
      const price = (trade: PairTrade | null) => (trade === null ? 0n : priceOf(trade[other], trade[own]));
      const prices = day.map(price);
      const first = prices[0] ?? 0n;
      return [
        [`${side}_price`, formatPrice(price(last))],
        [`${side}_24hr_price`, formatPrice(price(dayAgo))],
        [`${side}_24hr_high`, formatPrice(prices.reduce((high, each) => (each > high ? each : high), first))],
        [`${side}_24hr_low`, formatPrice(prices.reduce((low, each) => (each < low ? each : low), first))],
        [`${side}_24hr_change`, changeOf(price(last), price(dayAgo))],
        [`${side}_24hr_volume`, formatAmount(day.reduce((sum, trade) => sum + trade[own], 0n))]
      ];
    })
  );
}

/**
 * Returns the change of a price in percent, with two decimals rounded half away from zero; `0` if either price is 0.
 */
function changeOf(price: bigint, before: bigint): string {
  if (price === 0n || before === 0n) return '0';
  const change = price - before;
  const size = change < 0n ? -change : change;
  const hundredths = (2n * size * HUNDREDTHS + before) / (2n * before);
  return formatAmount((change < 0n ? -hundredths : hundredths) * 10n ** 16n);
}
