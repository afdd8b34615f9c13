/** The checksum of some rows: their number, and the sum of their keyed 64-bit words, mod 2^64. */
export interface Checksum {
  readonly rows: number;
  readonly sum: bigint;
}

/** The checksum of no rows. */
export const NO_ROWS: Checksum = { rows: 0, sum: 0n };

/** A value of the column that divides a table's rows; null: the rows in which it is NULL. */
export type Value = number | null;

const CHUNK = 256;

/** Values of one chunk in ascending order, in arrays that may be longer than `length`. */
interface Chunk {
  length: number;
  values: Uint8Array;
  rows: Uint32Array;
  sums: BigUint64Array;
}

/** Returns whether both stand for the same rows, but for one chance in 2^64. */
export function isSame(a: Checksum, b: Checksum): boolean {
  return a.rows === b.rows && a.sum === b.sum;
}

/** Returns the checksum of two sets of rows together. */
export function together(a: Checksum, b: Checksum): Checksum {
  return { rows: a.rows + b.rows, sum: BigInt.asUintN(64, a.sum + b.sum) };
}

/** Checksums by integer value, some 13 bytes each: a million rows of a table stay below 20 MB. */
export class ChecksumMap {
  readonly #chunks = new Map<number, Chunk>();
  #sorted: number[] | null = [];
  #nulls: Checksum = NO_ROWS;
  #rows = 0;
  #revision = 0;

  /** Rows of all values together. */
  get rows(): number {
    return this.#rows;
  }

  /** Another number after each change. */
  get revision(): number {
    return this.#revision;
  }

  get(value: Value): Checksum {
    if (value === null) return this.#nulls;
    const chunk = this.#chunks.get(Math.floor(value / CHUNK));
    if (!chunk) return NO_ROWS;
    const at = find(chunk, offset(value));
    return at < 0 ? NO_ROWS : { rows: chunk.rows[at]!, sum: chunk.sums[at]! };
  }

  set(value: Value, checksum: Checksum): void {
    this.#revision += 1;
    this.#rows += checksum.rows - this.get(value).rows;
    if (value === null) this.#nulls = checksum;
    else if (checksum.rows === 0) this.#remove(value);
    else this.#put(value, checksum);
  }

  /** Yields the values from `from` to `to` that have rows, ascending. It leaves NULL out. */
  *entries(from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY): Generator<[number, Checksum]> {
    for (const key of this.#keys()) {
      if ((key + 1) * CHUNK <= from) continue;
      if (key * CHUNK > to) return;
      const chunk = this.#chunks.get(key);
      for (let at = 0; chunk && at < chunk.length; at += 1) {
        const value = key * CHUNK + chunk.values[at]!;
        if (value >= from && value <= to) yield [value, { rows: chunk.rows[at]!, sum: chunk.sums[at]! }];
      }
    }
  }

  /** Forgets the values from `from` to `to`. */
  delete(from: number, to: number): void {
    for (const [value] of [...this.entries(from, to)]) this.set(value, NO_ROWS);
  }

  /** Returns the lowest of the newest values that together have this many rows; negative infinity if all have fewer. */
  newest(rows: number): number {
    let left = rows;
    for (const key of this.#keys().toReversed()) {
      const chunk = this.#chunks.get(key)!;
      for (let at = chunk.length - 1; at >= 0; at -= 1) {
        left -= chunk.rows[at]!;
        if (left <= 0) return key * CHUNK + chunk.values[at]!;
      }
    }
    return Number.NEGATIVE_INFINITY;
  }

  /** The lowest value that has rows; null when none has. */
  get lowest(): number | null {
    for (const [value] of this.entries()) return value;
    return null;
  }

  /** The highest value that has rows; null when none has. */
  get highest(): number | null {
    const key = this.#keys().at(-1);
    const chunk = key === undefined ? undefined : this.#chunks.get(key);
    return chunk ? key! * CHUNK + chunk.values[chunk.length - 1]! : null;
  }

  #keys(): readonly number[] {
    this.#sorted ??= [...this.#chunks.keys()].sort((a, b) => a - b);
    return this.#sorted;
  }

  #put(value: number, { rows, sum }: Checksum): void {
    const key = Math.floor(value / CHUNK);
    let chunk = this.#chunks.get(key);
    if (!chunk) {
      chunk = { length: 0, values: new Uint8Array(1), rows: new Uint32Array(1), sums: new BigUint64Array(1) };
      this.#chunks.set(key, chunk);
      this.#sorted = null;
    }
    let at = find(chunk, offset(value));
    if (at < 0) {
      at = ~at;
      if (chunk.length === chunk.values.length) grow(chunk);
      chunk.values.copyWithin(at + 1, at, chunk.length);
      chunk.rows.copyWithin(at + 1, at, chunk.length);
      chunk.sums.copyWithin(at + 1, at, chunk.length);
      chunk.length += 1;
      chunk.values[at] = offset(value);
    }
    chunk.rows[at] = rows;
    chunk.sums[at] = sum;
  }

  #remove(value: number): void {
    const key = Math.floor(value / CHUNK);
    const chunk = this.#chunks.get(key);
    const at = chunk ? find(chunk, offset(value)) : -1;
    if (!chunk || at < 0) return;
    chunk.values.copyWithin(at, at + 1, chunk.length);
    chunk.rows.copyWithin(at, at + 1, chunk.length);
    chunk.sums.copyWithin(at, at + 1, chunk.length);
    chunk.length -= 1;
    if (chunk.length > 0) return;
    this.#chunks.delete(key);
    this.#sorted = null;
  }
}

function offset(value: number): number {
  return value - Math.floor(value / CHUNK) * CHUNK;
}

/** Returns the index of a value, or the complement of the index at which it belongs. */
function find({ values, length }: Chunk, value: number): number {
  let [low, high] = [0, length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = values[middle]!;
    if (found === value) return middle;
    if (found < value) low = middle + 1;
    else high = middle - 1;
  }
  return ~low;
}

function grow(chunk: Chunk): void {
  const size = Math.min(CHUNK, chunk.values.length * 2);
  const { values, rows, sums } = chunk;
  [chunk.values, chunk.rows, chunk.sums] = [new Uint8Array(size), new Uint32Array(size), new BigUint64Array(size)];
  chunk.values.set(values);
  chunk.rows.set(rows);
  chunk.sums.set(sums);
}
