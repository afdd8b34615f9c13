/** Time for which a close counts. */
const WINDOW_MS = 20_000;
/** Closes by one hub that are no accident: two hubs that dial each other at once have one. */
const LEAST_CLOSES = 2;

/**
 * Finds out that another process has the key of this hub, as a copied machine does: other hubs keep one socket for each key, so they close
 * those of the two in turn, each for a newer one that this process has not opened.
 */
export class Rivals {
  readonly #faulty: number;
  /** By hub, the times of its closes by the clock of the thread. */
  readonly #closes = new Map<string, readonly number[]>();

  /** @param faulty  hubs that may lie: so many say nothing that counts */
  constructor(faulty: number) {
    this.#faulty = faulty;
  }

  /** Takes note that a hub closed a socket for a newer one that is not of this process. @returns whether another process has its key */
  note(peer: string, now: number): boolean {
    const isRecent = (at: number) => at > now - WINDOW_MS;
    this.#closes.set(peer, [...(this.#closes.get(peer) ?? []).filter(isRecent), now].slice(-LEAST_CLOSES));
    const sure = [...this.#closes.values()].filter((times) => times.filter(isRecent).length >= LEAST_CLOSES);
    return sure.length > this.#faulty;
  }
}
