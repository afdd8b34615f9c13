/** Time for which an answer that removes most must hold before it counts. */
const DOUBT_MS = 300_000;

/** Doubts answers of a hub that remove most of what it named: a hub with a wrong or an empty database answers too. */
export class AnswerDoubt {
  readonly #doubtMs: number;
  #known: ReadonlySet<string> = new Set();
  #since: number | null = null;

  /** @param doubtMs  of it, default 5 minutes */
  constructor(doubtMs = DOUBT_MS) {
    this.#doubtMs = doubtMs;
  }

  /**
   * Judges one answer by what it names. One that removes more than half counts only when all answers of 5 minutes did so.
   *
   * @param now in milliseconds
   * @returns why it does not count yet; null: it counts, and the next is compared with it
   */
  judge(names: ReadonlySet<string>, now: number): string | null {
    const removed = this.#known.difference(names).size;
    if (removed * 2 > this.#known.size) {
      this.#since ??= now;
      const leftS = Math.ceil((this.#since + this.#doubtMs - now) / 1000);
      if (leftS > 0)
        return `the hub no longer names ${removed} of ${this.#known.size} that it named: they are kept for ${leftS} s more; check its configuration`;
    }
    this.#since = null;
    this.#known = names;
    return null;
  }
}
