import { knownAmount, parseAmount } from '../../../consensus/amount.ts';
import { PAIRS, type PricedCoin } from '../../oracle/pairs.ts';
import {
  boundTo,
  formatPrice,
  isPlausible,
  MAX_STEP_PERCENT,
  medianPrice,
  type Price,
  readPrice
} from '../../oracle/price.ts';
import {
  type GatheredRound,
  heldByHonest,
  type RoundRules,
  type Seen,
  type Submission,
  startOf
} from './statements.ts';

/** Facts that the log has established before a round. */
export interface RoundsBefore {
  /** Number of the last round; -1 before the first one. */
  readonly round: number;
  /** By pair, the last price, a decimal with 8 places. */
  readonly prices: Readonly<Record<string, string>>;
  /** By key of a hub that qualifies for prices, the rounds in a row that it missed; 0 is left out. */
  readonly missed: Readonly<Record<string, number>>;
}

export const NO_ROUNDS: RoundsBefore = { round: -1, prices: {}, missed: {} };

/** A round that the log has decided. */
export interface DecidedRound {
  readonly round: number;
  /** End of its window, epoch seconds. */
  readonly timestamp: number;
  /** Height of Bitcoin in the middle of those that were submitted. */
  readonly height: number;
  /** All pairs, in order; null: too few submitted one, or they are too far apart. */
  readonly pairs: readonly { readonly pair: string; readonly price: string | null; readonly submissions: number }[];
  /** Hubs that were qualified for prices, in ascending order, as the next ones. */
  readonly qualified: readonly string[];
  /** Qualified hubs that submitted, once. */
  readonly counted: readonly string[];
  /** Hubs whose price of a pair was further from the price in the middle than is taken for honest. */
  readonly far: readonly string[];
  /** Hubs that signed two submissions. */
  readonly split: readonly string[];
}

/** Bounds beyond which a hub becomes evidence; the set may change them. */
export interface EvidenceBounds {
  /** Rounds in a row that a hub may miss. */
  readonly missed: number;
  /** Largest distance of a hub's price from the one in the middle, a decimal in percent. */
  readonly offPercent: string;
}

/** Bounds before the set has changed them. */
export const FIRST_BOUNDS: EvidenceBounds = { missed: 10, offPercent: '10' };

/** A decided round, and the facts after it. */
interface Decision {
  readonly decided: DecidedRound;
  readonly after: RoundsBefore;
}

/** Rounds in which a round may still be decided, its own included: the log may stand still for a while. */
const ROUNDS_OPEN = 10;
const ONE = knownAmount('1');
/** Part of the submissions that is left out at each end, in percent. */
const TRIMMED_PERCENT = 15;

/**
 * Returns the round that gathered submissions make, the same at every hub; or why they make none.
 *
 * Nobody can leave out a submission that all honest hubs held in time: each quorum of lists has more honest ones than hubs may lie, and all
 * that stands in so many lists must be there. Nobody can slip one in for the same reason: an honest hub held it before the window ended.
 *
 * @param qualified  hubs whose prices count
 * @param time  clock of the log, epoch milliseconds
 * @param offPercent  largest distance of a price that is taken for honest
 */
export function decideRound(
  rules: RoundRules,
  before: RoundsBefore,
  qualified: readonly string[],
  gathered: GatheredRound,
  time: number,
  { offPercent }: Pick<EvidenceBounds, 'offPercent'> = FIRST_BOUNDS
): Decision | string {
  const { round, seen, submissions } = gathered;
  if (round <= before.round) return `round ${before.round} is decided`;
  if (time < startOf(rules, round) + rules.windowMs) return `the window of round ${round} has not ended`;
  if (time >= startOf(rules, round + ROUNDS_OPEN)) return `round ${round} is too long ago`;
  const fault = findFault(rules, round, seen, submissions);
  if (fault !== null) return fault;
  const bySubmitter = Map.groupBy(submissions, ({ submitter }) => submitter);
  const split = [...bySubmitter].filter(([, of]) => of.length > 1).map(([submitter]) => submitter);
  const counting = submissions.filter(({ submitter }) => qualified.includes(submitter) && !split.includes(submitter));
  return conclude(rules, before, { round, qualified, split: split.toSorted(), counting, offPercent });
}

/** Returns why lists and submissions are not those of a round; null where they are. */
function findFault(
  rules: RoundRules,
  round: number,
  seen: readonly Seen[],
  submissions: readonly Submission[]
): string | null {
  const { keys, quorum, hashOf, isSigned } = rules;
  const hubs = new Set(seen.map(({ hub }) => hub));
  if (hubs.size < seen.length) return 'a hub has two lists';
  if (hubs.size < quorum) return `${hubs.size} of ${quorum} needed lists are there`;
  if (!seen.every((list) => list.round === round && keys.includes(list.hub) && isSigned(list)))
    return 'a list is not of this round, or its hub did not sign it';
  if (!submissions.every((one) => one.round === round && keys.includes(one.submitter) && isSigned(one)))
    return 'a submission is not of this round, or its hub did not sign it';
  const needed = heldByHonest(rules, seen);
  const given = new Set(submissions.map(hashOf));
  if (given.size < submissions.length) return 'a submission is there twice';
  if (given.size < needed.size) return 'a submission was left out';
  if (![...given].every((hash) => needed.has(hash))) return 'a submission was slipped in';
  return null;
}

interface Counting {
  readonly round: number;
  readonly qualified: readonly string[];
  readonly split: readonly string[];
  readonly counting: readonly Submission[];
  readonly offPercent: string;
}

function conclude(rules: RoundRules, before: RoundsBefore, of: Counting): Decision {
  const { round, qualified, split, counting, offPercent } = of;
  const quotes = PAIRS.map((pair) => ({ pair, prices: pricesOf(counting, pair) }));
  const middles = new Map(
    quotes.map(({ pair, prices }) => [pair, middleOf([...prices.values()], rules.minSubmissions)])
  );
  const pairs = quotes.map(({ pair, prices }) => {
    const price = boundedPrice(pair, middles.get(pair) ?? null, before);
    return { pair, price: price === null ? null : formatPrice(price), submissions: prices.size };
  });
  const isFar = ({ submitter }: Submission) =>
    quotes.some(({ pair, prices }) => isFarFrom(middles.get(pair) ?? null, prices.get(submitter), offPercent));
  const counted = counting.map(({ submitter }) => submitter).toSorted();
  const missed = qualified
    .filter((key) => !counted.includes(key))
    .map((key): [string, number] => [key, (before.missed[key] ?? 0) + 1]);
  const heights = counting.map(({ height }) => height).toSorted((a, b) => a - b);
  const decided: DecidedRound = {
    round,
    timestamp: Math.floor((startOf(rules, round) + rules.windowMs) / 1_000),
    height: heights[(heights.length - 1) >> 1] ?? 0,
    pairs,
    qualified: qualified.toSorted(),
    counted,
    far: counting
      .filter(isFar)
      .map(({ submitter }) => submitter)
      .toSorted(),
    split
  };
  const found = pairs.flatMap(({ pair, price }) => (price === null ? [] : [[pair, price] as const]));
  return {
    decided,
    after: {
      round,
      prices: { ...before.prices, ...Object.fromEntries(found) },
      missed: Object.fromEntries(missed.toSorted(([a], [b]) => (a < b ? -1 : 1)))
    }
  };
}

/** Returns the prices of a pair, by submitter. */
function pricesOf(counting: readonly Submission[], pair: string): ReadonlyMap<string, Price> {
  const found = new Map<string, Price>();
  for (const { submitter, prices } of counting) {
    const price = readPrice(prices.find(([name]) => name === pair)?.[1]);
    if (price !== null) found.set(submitter, price);
  }
  return found;
}

/** Returns the median without the lowest and highest prices; null where too few are there, or the middles are far apart. */
function middleOf(prices: readonly Price[], least: number): Price | null {
  if (prices.length < least) return null;
  const trimmed = Math.ceil((prices.length * TRIMMED_PERCENT) / 100);
  const sorted = prices.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
  return medianPrice(prices.length > 2 * trimmed ? sorted.slice(trimmed, -trimmed) : sorted);
}

/** Returns a price within a quarter of the last one, a first one where it can be one of its coin. */
function boundedPrice(pair: string, middle: Price | null, before: RoundsBefore): Price | null {
  if (middle === null) return null;
  const last = readPrice(before.prices[pair]);
  if (last !== null) return boundTo(middle, last, MAX_STEP_PERCENT);
  return isPlausible(pair.split('/')[0] as PricedCoin, middle) ? middle : null;
}

function isFarFrom(middle: Price | null, price: Price | undefined, offPercent: string): boolean {
  const most = parseAmount(offPercent);
  if (middle === null || price === undefined || most === null) return false;
  const off = price > middle ? price - middle : middle - price;
  return off * 100n * ONE > middle * most;
}
