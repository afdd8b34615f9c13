import { PAIRS, type PricedCoin } from './pairs.ts';
import {
  boundTo,
  formatPrice,
  isPlausible,
  MAX_STEP_ALONE_PERCENT,
  MAX_STEP_PERCENT,
  medianPrice,
  type Price,
  widestDeviation
} from './price.ts';
import { isTimely, LastChanges, referenceTime } from './source-times.ts';
import type { SaidPrice, SourceAnswer } from './sources.ts';

/** The rules of a round. */
export interface RoundRules {
  /** Sources that are asked. */
  readonly configured: number;
  /** ORACLE_MIN_SOURCES: a price that rests on fewer is none. */
  readonly minSources: number;
}

/** A pair in a round. */
interface JudgedPair {
  readonly pair: string;
  /** A decimal with 8 places; 0 where it is skipped. */
  readonly price: string;
  readonly status?: 'skipped';
  /** Number of sources whose median it is. */
  readonly sources: number;
  /** Difference of the source that is furthest off, in percent of the price; null without a price. */
  readonly deviation: string | null;
  /** True: it is the bound that what the sources say is beyond. */
  readonly bounded: boolean;
  /** Time at which the oldest of the sources' prices was found, in epoch seconds; null where no source says it, or there is no price. */
  readonly oldestAt: number | null;
}

/** This hub's earlier findings about a pair. */
export interface KnownPrice {
  /** Price of the last round. */
  readonly last: Price;
  /** The last price that two sources carried, within the bounds; else the first one. */
  readonly carried: Price;
  /** Its time in epoch seconds. */
  readonly carriedAt: number;
}

/** Sources' prices that are of now, by pair. */
export interface TimelyPrices {
  readonly byPair: ReadonlyMap<string, readonly SaidPrice[]>;
  /** The time by which they were judged, in epoch milliseconds: that of the round. */
  readonly now: number;
  /** One sentence for each source that said something old. */
  readonly faults: readonly string[];
}

/**
 * Sorts out what sources said of another time than now.
 *
 * @param clock epoch milliseconds by this machine's clock, which may be wrong
 * @param changes of the rounds before
 */
export function timelyPrices(
  answers: readonly SourceAnswer[],
  clock: number,
  changes = new LastChanges()
): TimelyPrices {
  const now = referenceTime(
    clock,
    answers.flatMap(({ servedAt }) => servedAt ?? [])
  );
  const byPair = new Map<string, SaidPrice[]>();
  const faults: string[] = [];
  for (const { source, prices: quoted, madeAt } of answers) {
    let oldest: number | null = null;
    const text = [...quoted].map(([pair, { price }]) => `${pair} ${price}`).join();
    const since = changes.note(source, text, now);
    const served = madeAt ?? now;
    const undated = isTimely(served, now) ? Math.min(served, since) : served;
    for (const [pair, { price, at: ownAt }] of quoted) {
      const at = ownAt ?? undated;
      if (isTimely(at, now)) byPair.set(pair, [...(byPair.get(pair) ?? []), { price, at }]);
      else oldest = Math.min(oldest ?? at, at);
    }
    if (oldest !== null) faults.push(`${source} told prices of ${new Date(oldest).toISOString()}`);
  }
  return { byPair, now, faults };
}

/** Returns the median of each pair that enough sources tell, as a hub tells them to others: not bound to its own last prices. */
export function foundPrices(
  { byPair }: Pick<TimelyPrices, 'byPair'>,
  { minSources }: Pick<RoundRules, 'minSources'>
): readonly (readonly [pair: string, price: string])[] {
  return PAIRS.flatMap((pair) => {
    const quoted = (byPair.get(pair) ?? []).map(({ price }) => price);
    const median = quoted.length >= minSources ? medianPrice(quoted) : null;
    return median === null ? [] : [[pair, formatPrice(median)] as const];
  });
}

/** Returns the pair whose sources differ most from their median, and by how many percent. */
export function widestOf(byPair: TimelyPrices['byPair']): { readonly pair: string; readonly percent: number } {
  let widest = { pair: '', percent: 0 };
  for (const [pair, found] of byPair) {
    const quoted = found.map(({ price }) => price);
    const middle = quoted.toSorted((a, b) => (a < b ? -1 : Number(a > b)))[quoted.length >> 1]!;
    const percent = Number(widestDeviation(quoted, middle));
    if (percent > widest.percent) widest = { pair, percent };
  }
  return widest;
}

/**
 * Returns the price of each pair: the median of its sources' prices, at most a quarter above or below the last one.
 * Where one source alone of several has it, it is also within a twentieth of the last price that two carried, for each
 * day since then. The first one is within the bounds of its coin.
 *
 * @param known of each pair that has a price @param now epoch milliseconds, the time of the round
 */
export function judgeRound(
  { byPair, now }: Pick<TimelyPrices, 'byPair' | 'now'>,
  known: ReadonlyMap<string, KnownPrice>,
  { configured, minSources }: RoundRules
): JudgedPair[] {
  return PAIRS.map((pair) => {
    const found = byPair.get(pair) ?? [];
    const quoted = found.map(({ price }) => price);
    const sources = quoted.length;
    const median = medianPrice(quoted);
    const before = known.get(pair);
    const isUsable =
      median !== null &&
      sources >= minSources &&
      (before !== undefined || isPlausible(pair.split('/')[0] as PricedCoin, median));
    if (!isUsable)
      return { pair, price: '0', status: 'skipped', sources, deviation: null, bounded: false, oldestAt: null };
    const price = boundPrice(median, before, sources === 1 && configured > 1, now);
    const times = found.flatMap(({ at }) => at ?? []);
    return {
      pair,
      price: formatPrice(price),
      sources,
      deviation: widestDeviation(quoted, price),
      bounded: price !== median,
      oldestAt: times.length === 0 ? null : Math.floor(Math.min(...times) / 1_000)
    };
  });
}

const DAY_MS = 86_400_000;

function boundPrice(median: Price, before: KnownPrice | undefined, isAlone: boolean, now: number): Price {
  if (before === undefined) return median;
  const { last, carried, carriedAt } = before;
  const days = Math.max(0, Math.floor((now - carriedAt * 1_000) / DAY_MS));
  const near = isAlone ? boundTo(median, carried, MAX_STEP_ALONE_PERCENT * (1 + days)) : median;
  return boundTo(near, last, MAX_STEP_PERCENT);
}
