import { Crowd } from '../ingress/crowd.ts';

/** Holder of one of a limited number of places. */
interface Placed {
  readonly address: string;
}

/**
 * Finds a place for one more of an address. While all are taken, the newest of the network or address that has the most gives way to
 * one that has fewer: nobody has all places by coming first.
 *
 * @param placed in the order in which they came
 * @returns `free`, who gives way, or null where nobody has more
 */
export function placeFor<P extends Placed>(placed: Iterable<P>, address: string, most: number): 'free' | P | null {
  const all = [...placed];
  if (all.length < most) return 'free';
  const crowd = new Crowd<P>();
  for (const each of all) crowd.add(each.address, each);
  return crowd.whoGivesWay(address) ?? null;
}
