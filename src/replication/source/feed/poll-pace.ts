/** Least pause between two polls, as a share of the interval. */
const LEAST_SHARE = 1 / 10;
/** A poll that takes no larger share of the interval is cheap. */
const CHEAP_SHARE = 1 / 50;

/**
 * Decides when a source looks for new blocks: once per interval from the beginning of a poll (twice while polls are cheap), and
 * right after each group.
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

  /** Notes that a poll begins. */
  begin(): void {
    const now = performance.now();
    if (now >= this.#dueAt) this.#dueAt = now + this.#intervalMs;
  }

  /** Milliseconds until the next attempt, by the duration of one that found nothing or failed. */
  pauseMs(tookMs: number, isFailed: boolean): number {
    const intervalMs = this.#intervalMs;
    const tillDueMs = this.#dueAt - performance.now();
    const isCheap = tookMs <= intervalMs * CHEAP_SHARE;
    const foundMs = isCheap ? Math.min(tillDueMs, intervalMs / 2) : tillDueMs;
    return Math.max(intervalMs * LEAST_SHARE, isFailed ? intervalMs - tookMs : foundMs);
  }
}
