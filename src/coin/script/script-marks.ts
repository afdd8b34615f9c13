/**
 * Marks of scripts, in the order in which they were added: 32 bits each, so that scripts can be looked for in a block that is no
 * longer there. Equal scripts have equal marks; different ones may have, too.
 */
export class ScriptMarks {
  #marks = new Uint32Array(64);
  #count = 0;

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

  /** Whether any mark added at or after a position is among these. */
  isAnyOf(wanted: ReadonlySet<number>, from: number): boolean {
    for (let at = from; at < this.#count; at++) if (wanted.has(this.#marks[at]!)) return true;
    return false;
  }

  /** A copy of all. */
  toArray(): Uint32Array {
    return this.#marks.slice(0, this.#count);
  }
}

/** FNV-1a of the bytes from `start` to before `end`: 32 bits. */
export function markOf(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let mark = 0x811c9dc5;
  for (let at = start; at < end; at++) mark = Math.imul(mark ^ bytes[at]!, 0x01000193);
  return mark >>> 0;
}
