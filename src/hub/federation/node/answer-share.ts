/** Characters that a hub is answered at once: the state of a full configuration. */
const MOST_AT_ONCE = 32 * 2 ** 20;
/** Characters a second that it is answered from then on. */
const PER_SECOND = 2 * 2 ** 20;

/** Share of one hub. */
interface Share {
  readonly left: number;
  /** Milliseconds of the clock that callers use. */
  readonly at: number;
}

/**
 * Shares of hubs: so much at once, and so much a second from then on; by default those of the other hubs in what this one hands out of its log and state. A question of some bytes is answered with a megabyte, which is
 * read and signed where votes wait: one that asks all the time gets no more than who catches up needs.
 */
export class AnswerShares {
  readonly #shares = new Map<string, Share>();
  readonly #atOnce: number;
  readonly #perSecond: number;

  constructor(atOnce = MOST_AT_ONCE, perSecond = PER_SECOND) {
    this.#atOnce = atOnce;
    this.#perSecond = perSecond;
  }

  /** Returns the milliseconds until a hub may be answered. @param now  milliseconds, never below the value before */
  waitMs(hub: string, now: number): number {
    return Math.max(0, Math.ceil((-this.#leftOf(hub, now) * 1_000) / this.#perSecond));
  }

  /** Takes note of an answer. @param length  of it, in characters, or messages */
  spend(hub: string, length: number, now: number): void {
    this.#shares.set(hub, { left: this.#leftOf(hub, now) - length, at: now });
  }

  #leftOf(hub: string, now: number): number {
    const { left, at } = this.#shares.get(hub) ?? { left: this.#atOnce, at: now };
    return Math.min(this.#atOnce, left + ((now - at) * this.#perSecond) / 1_000);
  }
}
