import { PAIRS, type PricedCoin } from './pairs.ts';
import { boundStep, formatPrice, isPlausible, medianPrice, type Price, widestDeviation } from './price.ts';
import { isTimely, referenceTime } from './source-times.ts';
import type { SourceAnswer } from './sources.ts';

/** The rules of a round. */
export interface RoundRules {
  /** Sources that are asked. */
  readonly configured: number;
  /** ORACLE_MIN_SOURCES: a price that rests on fewer is none. */
  readonly minSources: number;
}

/** A pair in a round. */
export interface JudgedPair {
  readonly pair: string;
  /** A decimal with 8 places; 0 where it is skipped. */
  readonly price: string;
  readonly status?: 'skipped';
  /** Whose median it is. */
  readonly sources: number;
  /** By how many percent of it the source that is furthest off differs; null without a price. */
  readonly deviation: string | null;
}

/** What sources said that is of now, by pair. */
export interface TimelyPrices {
  readonly byPair: ReadonlyMap<string, readonly Price[]>;
  /** One sentence for each source that said something old. */
  readonly faults: readonly string[];
}

/**
 * Sorts out what sources said of another time than now.
 *
 * @param now epoch milliseconds by this machine's clock, which may be wrong
 */
export function timelyPrices(answers: readonly SourceAnswer[], now: number): TimelyPrices {
  const reference = referenceTime(
    now,
    answers.flatMap(({ servedAt }) => servedAt ?? [])
  );
  const byPair = new Map<string, Price[]>();
  const faults: string[] = [];
  for (const { source, said } of answers) {
    let oldest: number | null = null;
    for (const [pair, { price, at }] of said) {
      if (at === null || isTimely(at, reference)) byPair.set(pair, [...(byPair.get(pair) ?? []), price]);
      else oldest = Math.min(oldest ?? at, at);
    }
    if (oldest !== null) faults.push(`${source} told prices of ${new Date(oldest).toISOString()}`);
  }
  return { byPair, faults };
}

/** The pair whose sources differ most from their median, and by how many percent. */
export function widestOf(byPair: TimelyPrices['byPair']): { readonly pair: string; readonly percent: number } {
  let widest = { pair: '', percent: 0 };
  for (const [pair, said] of byPair) {
    const middle = said.toSorted((a, b) => (a < b ? -1 : Number(a > b)))[said.length >> 1]!;
    const percent = Number(widestDeviation(said, middle));
    if (percent > widest.percent) widest = { pair, percent };
  }
  return widest;
}

/**
 * The price of each pair: the median of what its sources said, a quarter above or below the last one at most, or a twentieth
 * where one source alone of several says it. The first one is within the bounds of its coin.
 *
 * @param last the prices of the round before, by pair
 */
export function judgeRound(
  byPair: TimelyPrices['byPair'],
  last: ReadonlyMap<string, Price | null>,
  { configured, minSources }: RoundRules
): JudgedPair[] {
  return PAIRS.map((pair) => {
    const said = byPair.get(pair) ?? [];
    const sources = said.length;
    const median = medianPrice(said);
    const previous = last.get(pair) ?? null;
    const isUsable =
      median !== null &&
      sources >= minSources &&
      (previous !== null || isPlausible(pair.split('/')[0] as PricedCoin, median));
    if (!isUsable) return { pair, price: '0', status: 'skipped', sources, deviation: null };
    const price = boundStep(median, previous, sources === 1 && configured > 1);
    return { pair, price: formatPrice(price), sources, deviation: widestDeviation(said, median) };
  });
}
