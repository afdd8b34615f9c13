import { prefixOf } from '../callers/prefix.ts';

/** Groupings in which the largest group is looked for: networks, then addresses. */
export const CROWD_LEVELS: readonly ((address: string) => string)[] = [
  (address) => prefixOf(address, 48),
  (address) => prefixOf(address, 32),
  (address) => address
];

/** Holders of places, by network and address, each in the order in which they came. */
export class Crowd<P> {
  readonly #levels = CROWD_LEVELS.map((nameOf) => ({ nameOf, groups: new Map<string, Set<P>>() }));

  add(address: string, one: P): void {
    for (const { nameOf, groups } of this.#levels) {
      const name = nameOf(address);
      groups.set(name, (groups.get(name) ?? new Set()).add(one));
    }
  }

  delete(address: string, one: P): void {
    for (const { nameOf, groups } of this.#levels) {
      const name = nameOf(address);
      groups.get(name)?.delete(one);
      if (groups.get(name)?.size === 0) groups.delete(name);
    }
  }

  /** Returns those of one address. */
  of(address: string): ReadonlySet<P> {
    return this.#levels.at(-1)!.groups.get(address) ?? new Set();
  }

  /**
   * Returns who gives way to one more of an address: the newest of the network that has the most, also where each of its addresses
   * has one; undefined where no network and no address has more than this one's would. Networks of IPv6 are compared by 48 bits, by
   * 32, then by address.
   */
  whoGivesWay(address?: string): P | undefined {
    for (const { nameOf, groups } of this.#levels) {
      const own = (address === undefined ? undefined : groups.get(nameOf(address)))?.size ?? 0;
      let most: ReadonlySet<P> = new Set();
      for (const group of groups.values()) if (group.size > Math.max(most.size, own + 1)) most = group;
      if (most.size > 0) return [...most].at(-1);
    }
    return undefined;
  }
}
