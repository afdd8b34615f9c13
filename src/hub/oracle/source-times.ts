/** A source's price is of the last half hour, or it says nothing of now. */
const MOST_OFF_MS = 1_800_000;

/**
 * Returns the time that the answers of sources are judged by: of this machine's clock and theirs the one in the middle,
 * so that neither a clock that was set wrong nor one source that stands still or lies decides. Of two middles it is
 * their mean: where two clocks are more than an hour apart nobody knows which is right, and neither is timely.
 *
 * @param own epoch milliseconds, as the others @param times what the HTTP servers of the sources say
 */
export function referenceTime(own: number, times: readonly number[]): number {
  const sorted = [own, ...times].sort((a, b) => a - b);
  return Math.round((sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2);
}

/**
 * Notes since when each source has given the same prices. The time of an answer is not that of its prices: where a source does
 * not say when it found them, they are as old as they are unchanged, as far as this process saw.
 */
export class LastChanges {
  readonly #seen = new Map<string, { readonly text: string; readonly since: number }>();

  /** @param text all prices of the source @param now epoch milliseconds @returns when it gave these first */
  note(source: string, text: string, now: number): number {
    const known = this.#seen.get(source);
    if (known?.text === text && known.since <= now) return known.since;
    this.#seen.set(source, { text, since: now });
    return now;
  }
}

/** Returns whether a time is near enough to now. */
export const isTimely = (time: number, now: number): boolean => Math.abs(now - time) <= MOST_OFF_MS;

/** Reads a source's time as epoch milliseconds: seconds since 1970, or ISO 8601; null where it says none. */
export function readSourceTime(text: unknown): number | null {
  const time = typeof text === 'number' ? text * 1_000 : typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isFinite(time) ? time : null;
}
