import type { AddressVersions } from '../coin/chains.ts';
import { scriptOf } from '../coin/script/address.ts';
import { markOf } from '../coin/script/script-marks.ts';

/** What payments to addresses are looked for by. */
export class PaymentMarks {
  readonly #versions: AddressVersions;
  /** Of the addresses that were last asked for. */
  #known = new Map<string, number>();

  constructor(versions: AddressVersions) {
    this.#versions = versions;
  }

  /** Marks of the scripts that pay to these addresses. */
  of(addresses: readonly string[]): Set<number> {
    const marks = new Map<string, number>();
    for (const address of addresses) {
      const script = this.#known.has(address) ? undefined : scriptOf(address, this.#versions);
      const mark = script ? markOf(script) : this.#known.get(address);
      if (mark !== undefined) marks.set(address, mark);
    }
    this.#known = marks;
    return new Set(marks.values());
  }
}
