/** Prices that a hub found for a round, as it signed them. */
export interface Submission {
  /** Key of the hub, 64 hex digits. */
  readonly submitter: string;
  readonly round: number;
  /** Height of Bitcoin as the hub knows it; 0 where it knows none. */
  readonly height: number;
  /** Pairs in their order, each with a decimal of 8 places; pairs without a price are left out. */
  readonly prices: readonly (readonly [pair: string, price: string])[];
  readonly sig: string;
}

/** Submissions of a round that a hub held when their window ended, one of each submitter. */
export interface Seen {
  readonly hub: string;
  readonly round: number;
  /** Hashes of the submissions, in ascending order. */
  readonly held: readonly string[];
  readonly sig: string;
}

/** A round as the log has it: lists of a quorum, and the submissions that stand in more of them than hubs may lie. */
export interface GatheredRound {
  readonly round: number;
  readonly seen: readonly Seen[];
  readonly submissions: readonly Submission[];
}

/** Rules of rounds that all hubs of a set share. */
export interface RoundRules {
  /** Keys of the set, in ascending order. */
  readonly keys: readonly string[];
  /** Lists that a round needs. */
  readonly quorum: number;
  /** Hubs that may lie. */
  readonly faulty: number;
  /** Beginning of round 0, epoch milliseconds. */
  readonly epochStartMs: number;
  readonly intervalMs: number;
  /** Time from a round's beginning in which prices are submitted. */
  readonly windowMs: number;
  /** Submissions that a price rests on at least. */
  readonly minSubmissions: number;
  /** Returns the name of a submission: the first 40 hex digits of the SHA-256 of its canonical JSON. */
  readonly hashOf: (submission: Submission) => string;
  /** Whether a hub signed its submission or list. */
  readonly isSigned: (statement: Submission | Seen) => boolean;
}

/** Returns the number of the round at a time; below 0 before the first one. */
export function roundAt(
  { epochStartMs, intervalMs }: Pick<RoundRules, 'epochStartMs' | 'intervalMs'>,
  now: number
): number {
  return Math.floor((now - epochStartMs) / intervalMs);
}

/** Returns the beginning of a round, in epoch milliseconds. */
export function startOf({ epochStartMs, intervalMs }: RoundRules, round: number): number {
  return epochStartMs + round * intervalMs;
}

/** Returns the hashes that stand in more lists than hubs may lie: an honest hub held each of these submissions. */
export function heldByHonest({ faulty }: Pick<RoundRules, 'faulty'>, lists: readonly Seen[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const hash of lists.flatMap(({ held }) => held)) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count > faulty).map(([hash]) => hash));
}
