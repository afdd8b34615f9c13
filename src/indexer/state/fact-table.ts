import type { Facts, Kind } from './facts.ts';

/** Facts by kind and key. */
export class FactTable {
  readonly #kinds: Partial<Record<Kind, Map<string, unknown>>> = {};

  get<K extends Kind>(kind: K, key: string): Facts[K] | undefined {
    return this.#kinds[kind]?.get(key) as Facts[K] | undefined;
  }

  set<K extends Kind>(kind: K, key: string, value: Facts[K]): void {
    const facts = this.#kinds[kind];
    if (facts) facts.set(key, value);
    else this.#kinds[kind] = new Map([[key, value]]);
  }

  of<K extends Kind>(kind: K): ReadonlyMap<string, Facts[K]> {
    return (this.#kinds[kind] ?? NOTHING) as ReadonlyMap<string, Facts[K]>;
  }

  get kinds(): readonly Kind[] {
    return Object.keys(this.#kinds) as Kind[];
  }

  get size(): number {
    return Object.values(this.#kinds).reduce((sum, facts) => sum + facts.size, 0);
  }
}
const NOTHING: ReadonlyMap<string, unknown> = new Map();
