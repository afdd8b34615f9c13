/** Least pause between two polls, as a share of the interval. */
const LEAST_SHARE = 1 / 10;

/**
 * When a source looks for new blocks: once per interval, counted from the beginning of a poll, and once more right after each group.
 *
 * What a poll or a group takes must not add to how long a block waits: one that was committed while a group was read and sent is found
 * at the end of that group, and one that was committed later at the poll that was due anyway.
 */
export class PollPace {
  readonly #intervalMs: number;
  #dueAt = 0;

  /** @param intervalMs milliseconds */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** A poll begins. */
  begin(): void {
    const now = performance.now();
    if (now >= this.#dueAt) this.#dueAt = now + this.#intervalMs;
  }

  /** Milliseconds until the next attempt, after one that took so long and found nothing or failed. */
  pauseMs(tookMs: number, isFailed: boolean): number {
    const restMs = isFailed ? this.#intervalMs - tookMs : this.#dueAt - performance.now();
    return Math.max(this.#intervalMs * LEAST_SHARE, restMs);
  }
}
