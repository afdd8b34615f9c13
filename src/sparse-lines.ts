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
  readonly #told = new Map<string, Told>();
  readonly #now: () => number;

  /** @param now milliseconds by a clock that nobody sets */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** @returns how many lines of this cause were left out since the last one; null: this one is left out too */
  take(cause: string): number | null {
    const name = this.#told.has(cause) || this.#told.size < MOST_CAUSES ? cause : '';
    const told = this.#told.get(name);
    if (told && this.#now() - told.at < INTERVAL_MS) {
      told.more++;
      return null;
    }
    this.#told.set(name, { at: this.#now(), more: 0 });
    return told?.more ?? 0;
  }
}
