import type { AddressVersions } from '../coin/chains.ts';
import { scriptOf } from '../coin/script/address.ts';
import { markOf } from '../coin/script/script-marks.ts';
import { SortedMarks } from '../coin/script/sorted-marks.ts';

/**
 * Marks by which payments to addresses are found.
 *
 * Anybody may have very many addresses watched, for ever: a call costs what changed since the one before, and a look at
 * the others.
 */
export class PaymentMarks {
  readonly #versions: AddressVersions;
  /** Addresses of the last call. */
  #addresses: readonly string[] = [];
  /** Number of these addresses by mark. */
  readonly #counts = new Map<number, number>();
  #marks = new SortedMarks();

  constructor(versions: AddressVersions) {
    this.#versions = versions;
  }

  /**
   * Returns the marks of scripts that pay these addresses: the same object as long as they do not change.
   *
   * @param addresses quickest where those of the last call keep their order and new ones follow them
   */
  of(addresses: readonly string[]): SortedMarks {
    if (addresses === this.#addresses) return this.#marks;
    const touched = new Set<number>();
    let at = 0;
    for (const address of this.#addresses)
      if (addresses[at] === address) at += 1;
      else this.#count(address, -1, touched);
    for (; at < addresses.length; at++) this.#count(addresses[at]!, 1, touched);
    this.#addresses = addresses;
    this.#marks = this.#marks.with(new Map([...touched].map((mark) => [mark, this.#counts.has(mark)])));
    return this.#marks;
  }

  /** Returns the marks for further addresses, beside those of the last call. */
  ofMore(addresses: readonly string[]): SortedMarks {
    const more = addresses.flatMap((address) => this.#markOf(address) ?? []);
    return this.#marks.with(new Map(more.map((mark) => [mark, true])));
  }

  #count(address: string, change: number, touched: Set<number>): void {
    const mark = this.#markOf(address);
    if (mark === undefined) return;
    touched.add(mark);
    const now = (this.#counts.get(mark) ?? 0) + change;
    if (now > 0) this.#counts.set(mark, now);
    else this.#counts.delete(mark);
  }

  #markOf(address: string): number | undefined {
    const script = scriptOf(address, this.#versions);
    return script && markOf(script);
  }
}
