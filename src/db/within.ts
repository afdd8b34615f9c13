/**
 * Returns a test whether a value lies in one of some spans, from and to inclusive; null stands for NULL. They may be
 * hundreds of thousands.
 */
export function within(spans: readonly (readonly [number, number] | null)[]): (value: number | null) => boolean {
  const merged: [number, number][] = [];
  for (const [from, to] of spans.filter((span) => span !== null).toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  const hasNull = spans.includes(null);
  return (value) => {
    if (value === null) return hasNull;
    let [low, high] = [0, merged.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const [from, to] = merged[middle]!;
      if (value < from) high = middle - 1;
      else if (value > to) low = middle + 1;
      else return true;
    }
    return false;
  };
}
