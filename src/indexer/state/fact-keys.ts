import type { FactKey, Kind } from './facts.ts';

/** Set of keys of facts, in the order in which the kinds and then the keys were added. */
export class FactKeys implements Iterable<FactKey> {
  readonly #kinds = new Map<Kind, Set<string>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has({ kind, key }: FactKey): boolean {
    return this.#kinds.get(kind)?.has(key) ?? false;
  }

  hasKind(kind: Kind): boolean {
    return this.#kinds.has(kind);
  }

  add({ kind, key }: FactKey): void {
    const keys = this.#kinds.get(kind) ?? new Set();
    if (keys.size === 0) this.#kinds.set(kind, keys);
    const before = keys.size;
    keys.add(key);
    this.#size += keys.size - before;
  }

  addAll(keys: Iterable<FactKey>): void {
    for (const key of keys) this.add(key);
  }

  *[Symbol.iterator](): Generator<FactKey> {
    for (const [kind, keys] of this.#kinds) for (const key of keys) yield { kind, key };
  }
}
