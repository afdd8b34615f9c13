/** Counters, kept where the events happen. */
export type Count =
  /** Rows that were broadcast in blocks, or that came from a source in blocks and snapshots. */
  | 'rows.out'
  | 'rows.in'
  /** Bytes of snapshots that were sent, and of snapshots and messages that came. */
  | 'snapshotBytes.out'
  | 'bytes.in'
  | 'gcMs'
  /** How comparisons of a replica with its source ended; `repaired` counts tables. */
  | `digest.${(typeof DIGEST_OUTCOMES)[number]}`;

export const DIGEST_OUTCOMES = ['equal', 'repaired', 'elsewhere', 'unconfirmed', 'unverified', 'mismatch'] as const;

/** A piece of work that is over, with its parts one after another. Times are Unix milliseconds. */
export interface SpanRecord {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly facts?: Readonly<Record<string, string | number>>;
  readonly parts?: readonly SpanRecord[];
}

/** One thread's counts since the last read. */
export interface Counters {
  readonly counts: Readonly<Partial<Record<Count, number>>>;
  /** How long statements took. */
  readonly queryMs: readonly number[];
  readonly work: readonly SpanRecord[];
}

/** The most statements and spans kept between two reads; further ones are dropped. */
const MAX_QUERIES = 5_000;
const MAX_WORK = 1_000;

let counts: Partial<Record<Count, number>> = {};
let queryMs: number[] = [];
let work: SpanRecord[] = [];

/** Counts in this thread. */
export function count(what: Count, by = 1): void {
  counts[what] = (counts[what] ?? 0) + by;
}

/** Notes a statement that this thread waited for. */
export function tookQuery(ms: number): void {
  if (queryMs.length < MAX_QUERIES) queryMs.push(ms);
}

/** Notes a piece of work of this thread. */
export function recordSpan(done: SpanRecord): void {
  if (work.length < MAX_WORK) work.push(done);
}

/** Returns this thread's counts, and resets them. */
export function takeCounters(): Counters {
  const taken = { counts, queryMs, work };
  [counts, queryMs, work] = [{}, [], []];
  return taken;
}
