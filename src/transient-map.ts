/** Removals after which the entries move; one more for each entry, so that no removal pays for more than one copy. */
const REMOVED_PER_TABLE = 1_024;

/**
 * A map of what comes and goes by the thousand and stays for milliseconds, such as the questions that wait for an answer.
 *
 * A `Map` replaces its table when it is full of removed entries, and V8 keeps a link from each table to the next. Once one of
 * them is in the old generation, every later one is kept alive with all that was in it, until the old generation is collected.
 * Here the entries move to a new `Map`, which nothing links to, before there are many.
 */
export class TransientMap<Key, Value> {
  #entries = new Map<Key, Value>();
  #removed = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.set(key, value);
  }

  /** @returns whether it was there */
  delete(key: Key): boolean {
    const wasThere = this.#entries.delete(key);
    if (wasThere && ++this.#removed >= REMOVED_PER_TABLE + this.#entries.size) {
      this.#entries = new Map(this.#entries);
      this.#removed = 0;
    }
    return wasThere;
  }

  clear(): void {
    this.#entries = new Map();
    this.#removed = 0;
  }

  /** Returns the entries as a `Map` does, but one that is removed during the walk may still come. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  /** @see entries */
  values(): IterableIterator<Value> {
    return this.#entries.values();
  }
}
