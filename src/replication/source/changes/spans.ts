import type { Value } from './checksum-map.ts';

/** Values from and to, inclusive; null: NULL. The largest safe integers stand for no bound: all values from there on count as one. */
export type Span = readonly [number, number] | null;

export const LOWEST = -Number.MAX_SAFE_INTEGER;
export const HIGHEST = Number.MAX_SAFE_INTEGER;

/** The values that stand for many: of a span that reaches one, the rows are sent as a part of the table, never named one by one. */
export const ENDS: readonly Span[] = [
  [LOWEST, LOWEST],
  [HIGHEST, HIGHEST]
];

/** Returns whether a value stands for all beyond it. */
export function isEnd(value: Value): boolean {
  return value === LOWEST || value === HIGHEST;
}

/** Returns whether a span covers a value that stands for many. */
export function reachesEnd(span: Span): boolean {
  return span !== null && (isEnd(span[0]) || isEnd(span[1]));
}

/** Returns the same values in as few spans as there can be, ascending, NULL last; none reaches beyond the bounds. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: [number, number][] = [];
  for (const span of spans.filter((span) => span !== null).toSorted((a, b) => a[0] - b[0])) {
    const [from, to] = [Math.max(span[0], LOWEST), Math.min(span[1], HIGHEST)]; // a range of values may begin below the bound
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return spans.includes(null) ? [...merged, null] : merged;
}

/** Returns values as spans. */
export function spansOf(values: Iterable<Value>): Span[] {
  return mergeSpans(Array.from(values, (value): Span => (value === null ? null : [value, value])));
}

/**
 * Returns the parts of spans that lie in none of the others. It goes through both once, since there may be hundreds of thousands.
 */
export function withoutSpans(spans: readonly Span[], others: readonly Span[]): Span[] {
  const taken = mergeSpans(others);
  const left: Span[] = [];
  let at = 0;
  for (const span of mergeSpans(spans)) {
    if (span === null) {
      if (taken.at(-1) !== null) left.push(null);
      continue;
    }
    let [from, to]: readonly [number, number] = span;
    for (let other = taken[at]; other != null && other[0] <= to; other = taken[at]) {
      if (other[0] > from) left.push([from, other[0] - 1]);
      from = Math.max(from, other[1] + 1);
      if (other[1] > to) break; // it reaches into the next span
      at += 1;
    }
    if (from <= to) left.push([from, to]);
  }
  return left;
}

/** Returns the parts of spans that lie in one of the others. */
export function commonSpans(spans: readonly Span[], others: readonly Span[]): Span[] {
  return withoutSpans(spans, withoutSpans(spans, others));
}
