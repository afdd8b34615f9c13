/** The last `limit` items, oldest first. */
export class Ring<T> {
  readonly #limit: number;
  #items: T[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(item: T): void {
    this.#items.push(item);
    // Cut in bulk: one shift per item would move the whole array each time.
    if (this.#items.length >= this.#limit * 2) this.#items = this.#items.slice(-this.#limit);
  }

  toArray(): T[] {
    return this.#items.slice(-this.#limit);
  }
}
