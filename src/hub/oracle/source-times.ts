/** A source's price is of the last half hour, or it says nothing of now. */
const MOST_OFF_MS = 1_800_000;

/**
 * The time that the answers of sources are judged by: of this machine's clock and theirs the one in the middle, so that neither
 * a clock that was set wrong nor one source that stands still or lies decides. Of two, a source that is ahead is believed.
 *
 * @param own epoch milliseconds, as the others @param said what the HTTP servers of the sources say
 */
export function referenceTime(own: number, said: readonly number[]): number {
  const sorted = [own, ...said].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

/** Whether a time is near enough to now. */
export const isTimely = (time: number, now: number): boolean => Math.abs(now - time) <= MOST_OFF_MS;

/** Epoch milliseconds of what a source says: seconds since 1970, or ISO 8601; null where it says none. */
export function readSourceTime(said: unknown): number | null {
  const time = typeof said === 'number' ? said * 1_000 : typeof said === 'string' ? Date.parse(said) : Number.NaN;
  return Number.isFinite(time) ? time : null;
}
