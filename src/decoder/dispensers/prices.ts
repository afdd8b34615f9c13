import { MAX_DISPENSES, MAX_REFILLS } from '../../coin/action/dispenser.ts';

/** Dispensers of one transaction at one address with the same price. */
export interface Price {
  /** Least payment that they may serve, in base units. */
  readonly least: bigint;
  readonly dispensers: number;
  /** Counted payments that reach this price but no higher one of the transaction. */
  readonly payments: number;
}

/** Most payments that a ledger serves from one dispenser. */
export const MAX_PAYMENTS = MAX_DISPENSES * (1 + MAX_REFILLS);

/** Returns prices, cheapest first, with the dispensers of one more. */
export function withPrice(prices: readonly Price[], added: Price): readonly Price[] {
  const same = prices.find(({ least }) => least === added.least);
  const others = prices.filter((price) => price !== same);
  const one = same ? { ...same, dispensers: same.dispensers + added.dispensers } : added;
  return [...others, one].sort((a, b) => (a.least < b.least ? -1 : 1));
}

/**
 * Counts a payment for the dearest price that it reaches. @returns the prices after it, and that price
 *
 * @param amount base units, no less than the least of all prices
 */
export function withPayment(
  prices: readonly Price[],
  amount: bigint
): { readonly prices: readonly Price[]; readonly least: bigint } {
  const { least } = prices.findLast((price) => price.least <= amount)!;
  const after = prices.map((price) => (price.least === least ? { ...price, payments: price.payments + 1 } : price));
  return { prices: after, least };
}

/**
 * Returns the least payment that a dispenser with one of these prices may still serve; undefined when all have ended.
 *
 * A payment counts for one of the dispensers that it can pay, and nobody here knows for which: the cheaper ones may
 * have taken all that they can. So a price has certainly ended when the payments that reach it, and none above some
 * price, are as many as all dispensers up to that price take together. The cheapest one above the dearest that has
 * ended is the first to serve.
 */
export function leastOf(prices: readonly Price[]): bigint | undefined {
  let most = 0;
  let from = 0;
  /** Payments of the prices from that place on. */
  let paid = 0;
  for (const [place, { dispensers, payments }] of prices.entries()) {
    most += MAX_PAYMENTS * dispensers;
    paid += payments;
    if (paid < most) continue;
    let reached = 0;
    let lowest = place;
    for (; reached < most; lowest--) reached += prices[lowest]!.payments;
    from = lowest + 2;
    paid = reached - prices[lowest + 1]!.payments;
  }
  return prices[from]?.least;
}
