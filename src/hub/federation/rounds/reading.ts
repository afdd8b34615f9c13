import { PAIRS } from '../../oracle/pairs.ts';
import { formatPrice, readPrice } from '../../oracle/price.ts';
import type { GatheredRound, Seen, Submission } from './statements.ts';

/** Members of a set, and so lists of a round. */
const MOST_MEMBERS = 64;
/** Submissions of a round: two of a hub that signs several. */
const MOST_SUBMISSIONS = 2 * MOST_MEMBERS;
const KEY = /^[0-9a-f]{64}$/;
const SIGNATURE = /^[0-9a-f]{128}$/;
const HASH = /^[0-9a-f]{40}$/;
const ORDER = new Map(PAIRS.map((pair, at) => [pair, at]));

/** Returns whether a value has the shape of a submission, its pairs in order, its prices in their one form. */
export function isSubmission(value: unknown): value is Submission {
  if (!hasFields(value, ['submitter', 'round', 'height', 'prices', 'sig'])) return false;
  const { submitter, round, height, prices, sig } = value;
  if (!matches(submitter, KEY) || !matches(sig, SIGNATURE) || !isCount(round) || !isCount(height)) return false;
  if (!Array.isArray(prices) || prices.length === 0 || prices.length > PAIRS.length) return false;
  let last = -1;
  return prices.every((entry: unknown) => {
    if (!Array.isArray(entry) || entry.length !== 2) return false;
    const [pair, price] = entry as unknown[];
    const at = typeof pair === 'string' ? (ORDER.get(pair) ?? -1) : -1;
    if (at <= last) return false;
    last = at;
    const read = typeof price === 'string' ? readPrice(price) : null;
    return read !== null && formatPrice(read) === price;
  });
}

/** Returns whether a value has the shape of a list of submissions: hashes that ascend. */
export function isSeen(value: unknown): value is Seen {
  if (!hasFields(value, ['hub', 'round', 'held', 'sig'])) return false;
  const { hub, round, held, sig } = value;
  if (!matches(hub, KEY) || !matches(sig, SIGNATURE) || !isCount(round)) return false;
  if (!Array.isArray(held) || held.length > MOST_MEMBERS) return false;
  return held.every((hash: unknown, at) => matches(hash, HASH) && (at === 0 || (held[at - 1] as string) < hash));
}

/** Returns whether a value has the shape of a round. Nothing in it is checked yet. */
export function isGatheredRound(value: unknown): value is GatheredRound {
  if (!hasFields(value, ['round', 'seen', 'submissions'])) return false;
  const { round, seen, submissions } = value;
  if (!isCount(round) || !Array.isArray(seen) || !Array.isArray(submissions)) return false;
  if (seen.length > MOST_MEMBERS || submissions.length > MOST_SUBMISSIONS) return false;
  return seen.every(isSeen) && submissions.every(isSubmission);
}

function hasFields(value: unknown, names: readonly string[]): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
