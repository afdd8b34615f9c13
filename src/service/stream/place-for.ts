/** Who has a place among so many. */
interface Placed {
  readonly address: string;
}

/**
 * Finds a place for one more of an address. While all are taken, the newest of the address that has the most gives way to an address
 * that has fewer: nobody has all places by coming first.
 *
 * @param placed in the order in which they came
 * @returns `free`, who gives way, or null where the address has no fewer than any other
 */
export function placeFor<P extends Placed>(placed: Iterable<P>, address: string, most: number): 'free' | P | null {
  const all = [...placed];
  if (all.length < most) return 'free';
  const byAddress = Map.groupBy(all, (each) => each.address);
  const own = byAddress.get(address)?.length ?? 0;
  const [largest] = [...byAddress.values()].sort((a, b) => b.length - a.length);
  return largest && largest.length > own + 1 ? largest.at(-1)! : null;
}
