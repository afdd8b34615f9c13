/** The known name with the smallest edit distance. */
export function nearest(name: string, known: readonly string[]): string {
  const distance = (a: string, b: string): number => {
    let row = Array.from({ length: b.length + 1 }, (_, index) => index);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
      }
      row = next;
    }
    return row[b.length]!;
  };
  return known.reduce(
    (best, candidate) => (distance(name, candidate) < distance(name, best) ? candidate : best),
    known[0] ?? ''
  );
}
