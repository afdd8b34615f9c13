/** Keys by the time at which they are due, earliest first. Adding and taking cost O(log n). */
export class DueQueue {
  readonly #heap: { readonly due: number; readonly key: string }[] = [];

  /** Adds a key with its time. */
  add(due: number, key: string): void {
    const heap = this.#heap;
    let at = heap.push({ due, key }) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (heap[above]!.due <= heap[at]!.due) return;
      this.#swap(above, at);
      at = above;
    }
  }

  /** Removes and yields the keys due at a time, including those added meanwhile. */
  *take(time: number): Generator<string> {
    while (this.#heap.length > 0 && this.#heap[0]!.due <= time) yield this.#shift();
  }

  #shift(): string {
    const heap = this.#heap;
    const { key } = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < heap.length && heap[left]!.due < heap[least]!.due) least = left;
      if (right < heap.length && heap[right]!.due < heap[least]!.due) least = right;
      if (least === at) return key;
      this.#swap(least, at);
      at = least;
    }
  }

  #swap(one: number, other: number): void {
    const heap = this.#heap;
    [heap[one], heap[other]] = [heap[other]!, heap[one]!];
  }
}
