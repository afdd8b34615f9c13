import { createHash } from 'node:crypto';

/** Random numbers from a seed, so that a run can be repeated. */
export interface Random {
  /** Returns a number from 0 up to but not including 1. */
  next(): number;
  /** Returns a whole number, both bounds included. */
  between(min: number, max: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
}

/**
 * Creates the numbers of a seed. @see Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (the 32-bit
 * mix)
 */
export function createRandom(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return { next, between, pick: (items) => items[between(0, items.length - 1)] ?? items[0] };
}
