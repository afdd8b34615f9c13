import { prefixOf } from '../callers/prefix.ts';

/**
 * Queue in which networks take turns, and the addresses of a network share its turns: a caller with a network of IPv6 (48 bits)
 * gets no more than any other, however many addresses it asks from.
 */
export class FairLine<T> {
  /** By network, then by address; the one whose turn is next comes first. */
  readonly #networks = new Map<string, Map<string, T[]>>();

  /** Returns those of one address. */
  of(address: string): readonly T[] {
    return this.#networks.get(networkOf(address))?.get(address) ?? [];
  }

  /** Returns how many wait of the network of an address. */
  countOfNetwork(address: string): number {
    const addresses = this.#networks.get(networkOf(address))?.values() ?? [];
    return [...addresses].reduce((sum, { length }) => sum + length, 0);
  }

  get isEmpty(): boolean {
    return this.#networks.size === 0;
  }

  /** @param isKept which of the address's others stay */
  add(address: string, one: T, isKept: (other: T) => boolean = () => true): void {
    const network = networkOf(address);
    const addresses = this.#networks.get(network) ?? new Map<string, T[]>();
    addresses.set(address, [...(addresses.get(address) ?? []).filter(isKept), one]);
    this.#networks.set(network, addresses);
  }

  /** Takes the one whose turn it is; its network and its address come behind all others. @param isFree whether a network may have a turn */
  takeNext(isFree: (network: string) => boolean = () => true): T | undefined {
    for (const [network, addresses] of this.#networks) {
      if (!isFree(network)) continue;
      const [first] = addresses;
      if (!first) continue;
      const [address, [one, ...rest]] = first;
      addresses.delete(address);
      if (rest.length > 0) addresses.set(address, rest);
      this.#networks.delete(network);
      if (addresses.size > 0) this.#networks.set(network, addresses);
      return one;
    }
    return undefined;
  }

  /** Takes all of some; everybody else keeps the turn. */
  takeWhere(isWanted: (one: T) => boolean): readonly T[] {
    const found: T[] = [];
    for (const [network, addresses] of [...this.#networks]) {
      for (const [address, all] of [...addresses]) {
        const others = all.filter((one) => !isWanted(one));
        if (others.length === all.length) continue;
        for (const one of all) if (isWanted(one)) found.push(one);
        if (others.length > 0) addresses.set(address, others);
        else addresses.delete(address);
      }
      if (addresses.size === 0) this.#networks.delete(network);
    }
    return found;
  }

  /** Takes one of an address out of the line. */
  remove(address: string, one: T): void {
    const network = networkOf(address);
    const addresses = this.#networks.get(network);
    const others = addresses?.get(address)?.filter((each) => each !== one) ?? [];
    if (others.length > 0) return void addresses!.set(address, others);
    addresses?.delete(address);
    if (addresses?.size === 0) this.#networks.delete(network);
  }
}

/** Returns the network that an address takes turns with. */
export const networkOf = (address: string): string => prefixOf(address, 48);
