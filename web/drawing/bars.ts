import type { Past, Sample } from '../live.ts';

/** Number of bars in a plot. */
export const BARS = 30;
const MIN_SPAN_MS = 60_000;
const MAX_SPAN_MS = 300_000;
const DAY_MS = 86_400_000;

/** Values of the bars of a plot, oldest first. */
export interface Bars {
  readonly values: readonly number[];
  readonly spanMs: number;
  /** Time at the right edge, Unix milliseconds. */
  readonly now: number;
}

/** Bars without a value. */
export const NO_BARS: Bars = { values: [], spanMs: MIN_SPAN_MS, now: 0 };

/** Counts blocks over the time that was watched, five minutes at most. */
export function blocksWatched(samples: readonly Sample[]): Bars {
  const now = samples.at(-1)?.at ?? 0;
  const watched = now - (samples[0]?.at ?? now);
  const spanMs = Math.min(MAX_SPAN_MS, Math.max(MIN_SPAN_MS, Math.ceil(watched / 60_000) * 60_000));
  return { values: blocksIn(samples, now, spanMs), spanMs, now };
}

/** Counts blocks over 24 hours. @param now Unix milliseconds */
export function blocksOfDay(past: readonly Past[], now: number): Bars {
  const samples = past.flatMap(({ at, height }) => (height === null ? [] : [{ at, height }]));
  return { values: blocksIn(samples, now, DAY_MS), spanMs: DAY_MS, now };
}

/** Finds the greatest lag of each part of 24 hours, in blocks. @param now Unix milliseconds */
export function lagOfDay(past: readonly Past[], now: number): Bars {
  const values = new Array<number>(BARS).fill(0);
  for (const { at, lag } of past) {
    const bar = barAt(at, now, DAY_MS);
    if (bar >= 0) values[bar] = Math.max(values[bar]!, lag ?? 0);
  }
  return { values, spanMs: DAY_MS, now };
}

function blocksIn(samples: readonly Sample[], now: number, spanMs: number): number[] {
  const values = new Array<number>(BARS).fill(0);
  for (const [index, { at, height }] of samples.entries()) {
    const before = samples[index - 1];
    const bar = barAt(at, now, spanMs);
    if (before && bar >= 0) values[bar]! += Math.max(0, height - before.height);
  }
  return values;
}

/** Returns the bar of a time; negative before the first. */
const barAt = (at: number, now: number, spanMs: number): number =>
  Math.min(BARS - 1, BARS - 1 - Math.floor(((now - at) / spanMs) * BARS));
