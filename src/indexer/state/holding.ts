/** Amount of a token that an address holds, or is to get of it. */
export interface Holding {
  readonly address: string;
  /** Base units, above 0. */
  readonly amount: bigint;
}

const byAmount = (a: Holding, b: Holding) => (a.amount < b.amount ? 1 : a.amount > b.amount ? -1 : 0);

/**
 * Returns the holdings with the greatest amounts, of equal ones the first, in the order that they have. Never more than
 * twice as many are sorted at once, however many there are.
 *
 * @param most number of holdings that are returned, if there are as many; at least 1
 */
export function withMost(holdings: readonly Holding[], most: number): readonly Holding[] {
  if (holdings.length <= most) return holdings;
  let found: Holding[] = [];
  let least = 0n;
  for (const holding of holdings) {
    if (holding.amount <= least) continue;
    found.push(holding);
    if (found.length < 2 * most) continue;
    found = found.sort(byAmount).slice(0, most);
    least = found.at(-1)!.amount;
  }
  const chosen = new Set(found.sort(byAmount).slice(0, most));
  return holdings.filter((holding) => chosen.has(holding));
}
