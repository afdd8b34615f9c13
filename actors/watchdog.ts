/**
 * Calls `onSilence` once when `feed` was not called for `timeoutMs`.
 *
 * A main thread that was itself busy finds its timers due before the messages that wait for it: the messages are read
 * first, and only then the silence counts. A timer may also be due a fraction of a millisecond early: it is set again.
 */
export class Watchdog {
  readonly #timer: NodeJS.Timeout;
  #fedAt = performance.now();

  constructor(timeoutMs: number, onSilence: () => void) {
    const check = () => {
      if (this.#fedAt === Number.POSITIVE_INFINITY) return;
      if (performance.now() - this.#fedAt >= timeoutMs) onSilence();
      else this.#timer.refresh();
    };
    this.#timer = setTimeout(() => setImmediate(check), timeoutMs).unref();
  }

  feed(): void {
    this.#fedAt = performance.now();
    this.#timer.refresh();
  }

  stop(): void {
    this.#fedAt = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }
}
