import { formatAmount } from '../../consensus/amount.ts';

/** A trade of a pair, amounts as counts of 10^-18. */
export interface PairTrade {
  readonly amount1: bigint;
  readonly amount2: bigint;
}

/** What the figures of a pair are made of. */
export interface PairTrades {
  /** The newest valid match. */
  readonly last: PairTrade | null;
  /** The newest one that was a day old. */
  readonly dayAgo: PairTrade | null;
  /** Those of the day. */
  readonly day: readonly PairTrade[];
}

/** Seconds of the day that figures are about. */
export const DAY_S = 86_400;

const PLACES = 8;
const SCALE = 10n ** BigInt(PLACES);
/** From 8 places to the 18 of amounts. */
const TO_AMOUNT = 10n ** 10n;
/** Percents have 2 places: 100 percent are as many hundredths. */
const HUNDREDTHS = 10_000n;

/** One unit of the divisor's side in units of the other: a count of 10^-8, rounded half up; 0 where one is 0. */
export function priceOf(amount: bigint, divisor: bigint): bigint {
  return divisor === 0n ? 0n : (2n * amount * SCALE + divisor) / (2n * divisor);
}

/** A price as columns have it: `0`, `1.5`. */
export function formatPrice(price: bigint): string {
  return formatAmount(price * TO_AMOUNT);
}

/** The columns of a row of `markets` that matches tell, of both sides. */
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

/** The change of a price in percent, two places, rounded half away from zero; `0` where there is no price to compare. */
function changeOf(price: bigint, before: bigint): string {
  if (price === 0n || before === 0n) return '0';
  const change = price - before;
  const size = change < 0n ? -change : change;
  const hundredths = (2n * size * HUNDREDTHS + before) / (2n * before);
  return formatAmount((change < 0n ? -hundredths : hundredths) * 10n ** 16n);
}
