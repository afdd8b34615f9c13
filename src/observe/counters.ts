/** Names of counters. They are counted in the thread where the events happen. */
type Count =
  /** Rows broadcast in blocks; rows received in blocks and snapshots. */
  | 'rows.out'
  | 'rows.in'
  /** Bytes of snapshots sent; bytes of snapshots and messages received. */
  | 'snapshotBytes.out'
  | 'bytes.in'
  | 'gcMs'
  /** Outcomes of comparing a replica with its source; `repaired` counts tables. */
  | `digest.${(typeof DIGEST_OUTCOMES)[number]}`;

/** Outcomes of a comparison by digests. */
export const DIGEST_OUTCOMES = ['equal', 'repaired', 'elsewhere', 'unconfirmed', 'unverified', 'mismatch'] as const;

/** Finished work with its consecutive parts. Times are Unix milliseconds. */
export interface SpanRecord {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly facts?: Readonly<Record<string, string | number>>;
  readonly parts?: readonly SpanRecord[];
}

/** Counters of one thread since the last read. */
export interface Counters {
  readonly counts: Readonly<Partial<Record<Count, number>>>;
  /** Durations of statements in milliseconds. */
  readonly queryMs: readonly number[];
  readonly work: readonly SpanRecord[];
}

/** Most statements between two reads. Further ones are dropped. */
const MAX_QUERIES = 5_000;
/** Most spans between two reads. Further ones are dropped. */
const MAX_WORK = 1_000;

let counts: Partial<Record<Count, number>> = {};
let queryMs: number[] = [];
let work: SpanRecord[] = [];

/** Adds to a counter of this thread. */
export function count(what: Count, by = 1): void {
  counts[what] = (counts[what] ?? 0) + by;
}

/** Counts a statement that this thread waited for, with its duration. @param ms milliseconds */
export function tookQuery(ms: number): void {
  if (queryMs.length < MAX_QUERIES) queryMs.push(ms);
}

/** Counts finished work of this thread. */
export function recordSpan(done: SpanRecord): void {
  if (work.length < MAX_WORK) work.push(done);
}

/** Returns the counters of this thread and resets them; null: nothing was counted. */
export function takeCounters(): Counters | null {
  if (queryMs.length === 0 && work.length === 0 && Object.keys(counts).length === 0) return null;
  const taken = { counts, queryMs, work };
  [counts, queryMs, work] = [{}, [], []];
  return taken;
}
