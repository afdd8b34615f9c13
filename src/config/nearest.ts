/** Most edits of a misspelt name. */
const MOST_EDITS = 2;
/** Letters of the shortest name to judge: short ones resemble many. */
const LEAST_LETTERS = 8;

/** First words of service variables: one environment often has those of several services. */
const SERVICES = ['DECODER', 'ENCODER', 'INDEXER', 'EXPLORER', 'UTXO', 'HUB', 'SYNC', 'MINER', 'REGTEST', 'TELEMETRY'];

/** Returns whether a name resembles a known one, so that it was probably meant. */
export function isNearOne(name: string, known: readonly string[]): boolean {
  if (name.length < LEAST_LETTERS) return false;
  const upper = name.toUpperCase();
  const [word = ''] = upper.split('_');
  if (SERVICES.includes(word) && !known.some((each) => each.startsWith(`${word}_`))) return false;
  return known.some(
    (each) => Math.abs(each.length - upper.length) <= MOST_EDITS && distance(upper, each, MOST_EDITS) <= MOST_EDITS
  );
}

/** Returns the known name within `most` edits, without regard to case; undefined when there is none. */
export function nearestWithin(name: string, known: readonly string[], most: number): string | undefined {
  const lower = name.toLowerCase();
  return known.find(
    (each) => Math.abs(each.length - lower.length) <= most && distance(lower, each.toLowerCase(), most) <= most
  );
}

/** Returns the known name with the smallest edit distance. */
export function nearest(name: string, known: readonly string[]): string {
  const best = known.map((each) => [distance(name, each), each] as const).sort(([a], [b]) => a - b)[0];
  return best?.[1] ?? '';
}

/** Returns the number of letters to add, drop or change; a number above `most` when it is more. */
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
