const INTERVAL_MS = 30_000;
/** Most causes that are distinguished; those beyond count as one. */
const MOST_CAUSES = 100;

interface Told {
  at: number;
  /** Lines that were left out since. */
  more: number;
}

/** Lets one line of the log through for each cause and half a minute: callers must not choose how much is logged. */
export class SparseLines {
  readonly #lines = new Map<string, Told>();
  readonly #now: () => number;

  /** @param now milliseconds by a clock that nobody sets */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** @returns how many lines of this cause were left out since the last one; null: this one is left out too */
  take(cause: string): number | null {
    const name = this.#lines.has(cause) || this.#lines.size < MOST_CAUSES ? cause : '';
    const line = this.#lines.get(name);
    if (line && this.#now() - line.at < INTERVAL_MS) {
      line.more++;
      return null;
    }
    this.#lines.set(name, { at: this.#now(), more: 0 });
    return line?.more ?? 0;
  }
}
