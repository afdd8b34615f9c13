/** Edits that a misspelt name has at most, and the letters of the shortest one that is judged: short ones are near many. */
const MOST_EDITS = 2;
const LEAST_LETTERS = 8;

/** Words that names of services begin with: one environment often has those of several. */
const SERVICES = ['DECODER', 'ENCODER', 'INDEXER', 'EXPLORER', 'UTXO', 'HUB', 'SYNC', 'MINER', 'REGTEST', 'TELEMETRY'];

/** Whether a name is one that is known but for a slip, so that it was probably meant. */
export function isNearOne(name: string, known: readonly string[]): boolean {
  if (name.length < LEAST_LETTERS) return false;
  const upper = name.toUpperCase();
  const [word = ''] = upper.split('_');
  if (SERVICES.includes(word) && !known.some((each) => each.startsWith(`${word}_`))) return false;
  return known.some(
    (each) => Math.abs(each.length - upper.length) <= MOST_EDITS && distance(upper, each, MOST_EDITS) <= MOST_EDITS
  );
}

/** The known name that is at most so many letters from a name, without regard to case; undefined where none is. */
export function nearestWithin(name: string, known: readonly string[], most: number): string | undefined {
  const lower = name.toLowerCase();
  return known.find(
    (each) => Math.abs(each.length - lower.length) <= most && distance(lower, each.toLowerCase(), most) <= most
  );
}

/** The known name with the smallest edit distance. */
export function nearest(name: string, known: readonly string[]): string {
  const best = known.map((each) => [distance(name, each), each] as const).sort(([a], [b]) => a - b)[0];
  return best?.[1] ?? '';
}

/** Letters to add, drop or change; more than `most` where it is more. */
function distance(a: string, b: string, most = Number.POSITIVE_INFINITY): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    if (Math.min(...next) > most) return most + 1;
    row = next;
  }
  return row[b.length]!;
}
