/** The rate is measured over the last ten seconds. */
const WINDOW_MS = 10_000;
const LOG_EVERY_MS = 10_000;
const TELL_EVERY_MS = 250;

/** Progress of a bulk load, with its rate and the time that is left. */
export class Pace {
  readonly #expected: number | null;
  readonly #began = performance.now();
  #rows = 0;
  /** Progress at the beginning of the window. */
  #mark = { at: performance.now(), rows: 0 };
  #before = this.#mark;
  #toldAt = 0;
  #loggedAt = performance.now();

  /** @param expected estimate of all rows; null where there is none */
  constructor(expected: number | null) {
    this.#expected = expected === 0 ? null : expected;
  }

  /** @returns whether a report is due */
  add(rows: number): boolean {
    this.#rows += rows;
    const now = performance.now();
    if (now - this.#mark.at >= WINDOW_MS) {
      this.#before = this.#mark;
      this.#mark = { at: now, rows: this.#rows };
    }
    if (now - this.#toldAt < TELL_EVERY_MS) return false;
    this.#toldAt = now;
    return true;
  }

  /** Returns true once in ten seconds, beginning ten seconds after the start. */
  isDue(): boolean {
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return false;
    this.#loggedAt = now;
    return true;
  }

  get rows(): number {
    return this.#rows;
  }

  get percent(): number | null {
    return this.#expected === null ? null : (100 * this.#rows) / this.#expected;
  }

  get rowsPerSecond(): number {
    const { at, rows } = this.#before;
    const seconds = (performance.now() - Math.max(at, this.#began)) / 1000;
    return seconds <= 0 ? 0 : Math.round((this.#rows - rows) / seconds);
  }

  get etaSeconds(): number | null {
    const rate = this.rowsPerSecond;
    if (this.#expected === null || rate === 0) return null;
    return Math.max(0, Math.round((this.#expected - this.#rows) / rate));
  }
}
