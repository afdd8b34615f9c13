import type { Marks } from './sorted-marks.ts';

/**
 * Marks of scripts in the order of adding, 32 bits each. They allow a search for scripts after a block was dropped.
 *
 * Equal scripts have equal marks; different scripts may, too.
 */
export class ScriptMarks {
  #marks = new Uint32Array(64);
  #count = 0;

  /** Adds the mark of the bytes from `start` to before `end`. */
  add(bytes: Uint8Array, start: number, end: number): void {
    if (this.#count === this.#marks.length) {
      const marks = new Uint32Array(2 * this.#count);
      marks.set(this.#marks);
      this.#marks = marks;
    }
    this.#marks[this.#count++] = markOf(bytes, start, end);
  }

  get count(): number {
    return this.#count;
  }

  /** Returns whether any mark added at or after a position is among these. */
  isAnyOf(wanted: Marks, from: number): boolean {
    for (let at = from; at < this.#count; at++) if (wanted.has(this.#marks[at]!)) return true;
    return false;
  }

  /** Returns a copy of all marks. */
  toArray(): Uint32Array {
    return this.#marks.slice(0, this.#count);
  }
}

/** Returns the FNV-1a hash, 32 bits, of the bytes from `start` to before `end`. */
export function markOf(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let mark = 0x811c9dc5;
  for (let at = start; at < end; at++) mark = Math.imul(mark ^ bytes[at]!, 0x01000193);
  return mark >>> 0;
}
