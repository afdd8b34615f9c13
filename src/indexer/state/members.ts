import { compareBytes } from '../../consensus/byte-order.ts';

/** Changes beside a set after which the set is made anew. Each further change copies them. */
const MAX_CHANGES = 400;

/**
 * Members of a list, or signing keys, as an immutable set.
 *
 * An edit returns a set that shares the unchanged part. So an edit of one member costs about the same for a short list
 * and for a long one.
 */
export class Members implements Iterable<string> {
  readonly #base: ReadonlySet<string>;
  readonly #added: ReadonlySet<string>;
  readonly #removed: ReadonlySet<string>;
  #sorted: readonly string[] | undefined;

  constructor(
    base: ReadonlySet<string> = NOBODY,
    added: ReadonlySet<string> = NOBODY,
    removed: ReadonlySet<string> = NOBODY
  ) {
    this.#base = base;
    this.#added = added;
    this.#removed = removed;
  }

  get size(): number {
    return this.#base.size + this.#added.size - this.#removed.size;
  }

  has(item: string): boolean {
    return this.#added.has(item) || (this.#base.has(item) && !this.#removed.has(item));
  }

  with(items: Iterable<string>): Members {
    const [added, removed] = [new Set(this.#added), new Set(this.#removed)];
    for (const item of items) {
      if (!this.#base.has(item)) added.add(item);
      removed.delete(item);
    }
    return this.#compact(added, removed);
  }

  without(items: Iterable<string>): Members {
    const [added, removed] = [new Set(this.#added), new Set(this.#removed)];
    for (const item of items) {
      added.delete(item);
      if (this.#base.has(item)) removed.add(item);
    }
    return this.#compact(added, removed);
  }

  *[Symbol.iterator](): Generator<string> {
    for (const item of this.#base) if (!this.#removed.has(item)) yield item;
    yield* this.#added;
  }

  /** Members in byte order. */
  get sorted(): readonly string[] {
    this.#sorted ??= [...this].sort(compareBytes);
    return this.#sorted;
  }

  #compact(added: ReadonlySet<string>, removed: ReadonlySet<string>): Members {
    const changed = new Members(this.#base, added, removed);
    return added.size + removed.size > MAX_CHANGES ? new Members(new Set(changed)) : changed;
  }
}

const NOBODY: ReadonlySet<string> = new Set();
