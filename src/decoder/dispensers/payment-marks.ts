import type { AddressVersions } from '../../coin/chains.ts';
import { scriptOf } from '../../coin/script/address.ts';
import { markOf } from '../../coin/script/script-marks.ts';
import { SortedMarks } from '../../coin/script/sorted-marks.ts';

/**
 * Marks by which payments to addresses are found, 8 bytes each.
 *
 * Anybody may have very many addresses watched, for ever: a change costs a copy of the marks, and a look at those that
 * change.
 */
export class PaymentMarks {
  readonly #versions: AddressVersions;
  #sorted = new SortedMarks();
  /** By place of the mark, how many addresses have it. */
  #counts = new Uint32Array();

  constructor(versions: AddressVersions) {
    this.#versions = versions;
  }

  /** The same object as long as the marks do not change. */
  get sorted(): SortedMarks {
    return this.#sorted;
  }

  /** Adds addresses, or takes each away that was added before. An address may be added several times. */
  change(addresses: readonly string[], by: 1 | -1): void {
    const changes = new Map<number, number>();
    for (const mark of marksOf(addresses, this.#versions)) changes.set(mark, (changes.get(mark) ?? 0) + by);
    const before = this.#sorted;
    const countBefore = (mark: number) => (before.has(mark) ? this.#counts[before.placeOf(mark)]! : 0);
    const after = before.with(new Map([...changes].map(([mark, change]) => [mark, countBefore(mark) + change > 0])));
    const counts = after === before ? this.#counts : moved(this.#counts, before, after);
    for (const [mark, change] of changes) if (after.has(mark)) counts[after.placeOf(mark)]! += change;
    this.#sorted = after;
    this.#counts = counts;
  }
}

/** Returns the marks of the scripts that pay these addresses; an address of another chain has none. */
export function marksOf(addresses: readonly string[], versions: AddressVersions): readonly number[] {
  return addresses.flatMap((address) => {
    const script = scriptOf(address, versions);
    return script ? [markOf(script)] : [];
  });
}

/** Returns counts by the places of other marks: 0 for those that are new. */
function moved(counts: Uint32Array, before: SortedMarks, after: SortedMarks): Uint32Array<ArrayBuffer> {
  const result = new Uint32Array(after.size);
  let from = 0;
  for (let to = 0; to < after.size; to++) {
    const mark = after.marks[to]!;
    while (from < before.size && before.marks[from]! < mark) from++;
    if (before.marks[from] === mark) result[to] = counts[from]!;
  }
  return result;
}
