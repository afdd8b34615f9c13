import type { AddressVersions } from '../coin/chains.ts';
import { scriptOf } from '../coin/script/address.ts';
import { markOf } from '../coin/script/script-marks.ts';

/** Computes the marks by which payments to addresses are found. */
export class PaymentMarks {
  readonly #versions: AddressVersions;
  /** Marks by address, from the last call of `of`. */
  #known = new Map<string, number | undefined>();
  #last: { readonly addresses: readonly string[]; readonly marks: ReadonlySet<number> } | undefined;

  constructor(versions: AddressVersions) {
    this.#versions = versions;
  }

  /** Returns the marks of scripts that pay these addresses. The same array returns the same set. */
  of(addresses: readonly string[]): ReadonlySet<number> {
    if (this.#last?.addresses === addresses) return this.#last.marks;
    this.#known = new Map(addresses.map((address) => [address, this.#markOf(address)]));
    this.#last = { addresses, marks: new Set(this.#known.values().filter((mark) => mark !== undefined)) };
    return this.#last.marks;
  }

  /** Returns the marks for further addresses, without caching them. */
  ofMore(addresses: readonly string[]): ReadonlySet<number> {
    return new Set(addresses.map((address) => this.#markOf(address)).filter((mark) => mark !== undefined));
  }

  #markOf(address: string): number | undefined {
    if (this.#known.has(address)) return this.#known.get(address);
    const script = scriptOf(address, this.#versions);
    return script && markOf(script);
  }
}
