import { Crowd } from '../../service/ingress/crowd.ts';

/** Names that strangers bring, each with a value. When the list is full, the newest of the address that has the most gives way. */
export class SharedList<V> {
  readonly #entries = new Map<string, { readonly address: string | undefined; readonly value: V }>();
  readonly #crowd = new Crowd<string>();
  readonly #most: number;
  readonly #onGivenWay: (value: V) => void;

  constructor(most: number, onGivenWay: (value: V) => void = () => undefined) {
    this.#most = most;
    this.#onGivenWay = onGivenWay;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): V | undefined {
    return this.#entries.get(name)?.value;
  }

  /**
   * Adds a name that is not listed yet. @param address who brings it; undefined: it always has room
   * @returns false where the list is full and nobody has more
   */
  add(name: string, value: V, address: string | undefined): boolean {
    if (address !== undefined && this.#entries.size >= this.#most) {
      const last = this.#crowd.whoGivesWay(address);
      if (last === undefined) return false;
      const { value: given } = this.#entries.get(last)!;
      this.delete(last);
      this.#onGivenWay(given);
    }
    this.#entries.set(name, { address, value });
    if (address !== undefined) this.#crowd.add(address, name);
    return true;
  }

  delete(name: string): void {
    const { address } = this.#entries.get(name) ?? {};
    if (address !== undefined) this.#crowd.delete(address, name);
    this.#entries.delete(name);
  }

  /** In the order in which they came. */
  *[Symbol.iterator](): Generator<[name: string, value: V]> {
    for (const [name, { value }] of this.#entries) yield [name, value];
  }
}
