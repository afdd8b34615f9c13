/** A longer answer takes milliseconds to write. */
const LONG_BYTES = 64 * 1024;
/** A look is kept for so many times as long as it took: looks take a twentieth of a core at most. */
const KEEP_TIMES = 20;

interface Kept {
  readonly json: Buffer;
  /** Milliseconds of the process's clock. */
  readonly until: number;
}

/** Looks at what is in memory, as JSON. A long one serves all callers for a while: they ask as often as they like. */
export class KeptLooks {
  readonly #kept = new Map<string, Kept>();

  /** Returns a look. @param name tells it from others, of which there are few @param print writes it as JSON */
  read<T extends object>(name: string, look: () => T, print: (seen: T) => string = JSON.stringify): Buffer {
    const known = this.#kept.get(name);
    if (known && performance.now() < known.until) return known.json;
    this.#kept.delete(name);
    const began = performance.now();
    const json = Buffer.from(print(look()));
    const now = performance.now();
    if (json.length > LONG_BYTES) this.#kept.set(name, { json, until: now + KEEP_TIMES * (now - began) });
    return json;
  }
}
