/** A set of marks that is only asked. */
export interface Marks {
  readonly size: number;
  readonly has: (mark: number) => boolean;
}

/** Marks in ascending order, each once: a million are copied to a thread at once, and are no set to be made there. */
export class SortedMarks implements Marks {
  readonly marks: Uint32Array;

  /** @param marks in ascending order, each once */
  constructor(marks: Uint32Array = new Uint32Array()) {
    this.marks = marks;
  }

  get size(): number {
    return this.marks.length;
  }

  has(mark: number): boolean {
    return this.marks[this.placeOf(mark)] === mark;
  }

  /**
   * Returns these marks with some more and without others. It copies all, and searches for those that change alone.
   *
   * @param changes whether each of some marks is to be there
   */
  with(changes: ReadonlyMap<number, boolean>): SortedMarks {
    const changed = [...changes].filter(([mark, isThere]) => this.has(mark) !== isThere).sort(([a], [b]) => a - b);
    if (changed.length === 0) return this;
    const added = changed.filter(([, isThere]) => isThere).length;
    const marks = new Uint32Array(this.size + 2 * added - changed.length);
    let [from, to] = [0, 0];
    for (const [mark, isThere] of changed) {
      const place = this.placeOf(mark);
      marks.set(this.marks.subarray(from, place), to);
      to += place - from;
      from = isThere ? place : place + 1;
      if (isThere) marks[to++] = mark;
    }
    marks.set(this.marks.subarray(from), to);
    return new SortedMarks(marks);
  }

  /** Returns those of these marks that others lack. */
  without(others: SortedMarks): Set<number> {
    const missing = new Set<number>();
    let at = 0;
    for (const mark of this.marks) {
      while (at < others.size && others.marks[at]! < mark) at++;
      if (others.marks[at] !== mark) missing.add(mark);
    }
    return missing;
  }

  /** Returns the place of the first mark that is not below this one, which need not be among them. */
  placeOf(mark: number): number {
    let [low, high] = [0, this.marks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.marks[middle]! < mark) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
