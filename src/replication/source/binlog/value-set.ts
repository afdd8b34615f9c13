import { toValue } from '../changes/ranging.ts';
import { mergeSpans, type Span } from '../changes/spans.ts';

const WIDTH = 256;
const WORD = 32;

/** A value as the log has it: exact, also beyond the safe integers. */
export type LoggedValue = number | bigint | null;

/** Integers, and NULL, that were added: 32 bytes for 256 neighbours. */
export class ValueSet implements Iterable<LoggedValue> {
  readonly #chunks = new Map<number, Uint32Array>();
  /** Beyond the safe integers. */
  readonly #far = new Set<bigint>();
  #hasNull = false;
  #count = 0;
  #runs = 0;

  /** Values that are in it, NULL among them. */
  get size(): number {
    return this.#count + this.#far.size + (this.#hasNull ? 1 : 0);
  }

  /** Runs of neighbours: what it takes to name the values. */
  get runs(): number {
    return this.#runs + this.#far.size;
  }

  /** Parts of the numbers that it keeps bits of. */
  get chunks(): number {
    return this.#chunks.size;
  }

  has(value: LoggedValue): boolean {
    if (value === null) return this.#hasNull;
    if (typeof value === 'bigint') return this.#far.has(value);
    const chunk = this.#chunks.get(Math.floor(value / WIDTH));
    if (!chunk) return false;
    const bit = value - Math.floor(value / WIDTH) * WIDTH;
    return (chunk[bit >> 5]! & (1 << (bit % WORD))) !== 0;
  }

  add(value: LoggedValue): void {
    if (value === null) {
      this.#hasNull = true;
      return;
    }
    if (typeof value === 'bigint') {
      this.#far.add(value);
      return;
    }
    const key = Math.floor(value / WIDTH);
    const bit = value - key * WIDTH;
    const chunk = this.#chunks.get(key) ?? new Uint32Array(WIDTH / WORD);
    this.#chunks.set(key, chunk);
    const mask = 1 << (bit % WORD);
    if ((chunk[bit >> 5]! & mask) !== 0) return;
    chunk[bit >> 5]! |= mask;
    this.#count += 1;
    this.#runs += 1 - (this.has(value - 1) ? 1 : 0) - (this.has(value + 1) ? 1 : 0);
  }

  /** Numbers ascending, then those beyond the safe integers, NULL last. */
  *[Symbol.iterator](): Generator<LoggedValue> {
    for (const key of [...this.#chunks.keys()].sort((a, b) => a - b)) {
      const chunk = this.#chunks.get(key)!;
      for (let bit = 0; bit < WIDTH; bit += 1)
        if ((chunk[bit >> 5]! & (1 << (bit % WORD))) !== 0) yield key * WIDTH + bit;
    }
    yield* this.#far;
    if (this.#hasNull) yield null;
  }

  /** Returns the same values as spans. */
  spans(): Span[] {
    const found: [number, number][] = [];
    for (const each of this) {
      const last = found.at(-1);
      const value = toValue(each);
      if (value === null) return mergeSpans([...found, null]);
      if (last?.[1] === value - 1) last[1] = value;
      else found.push([value, value]);
    }
    return mergeSpans(found);
  }
}
