import { setTimeout as wait } from 'node:timers/promises';

/** Length of the rests between pieces of work, and a clock. */
interface PaceOptions {
  /** Returns how long a rest is, as a multiple of the work before it. It is asked again at the end of a rest. */
  readonly rests: () => number;
  /** Longest rest, in milliseconds. */
  readonly longestMs: number;
  readonly now?: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/** Runs pieces of work one after the other, with a rest after each, whether it succeeded or not. */
export class Pace {
  readonly #options: Required<PaceOptions>;
  #last: Promise<void> = Promise.resolve();

  constructor(options: PaceOptions) {
    this.#options = { now: () => performance.now(), sleep: (ms) => wait(ms), ...options };
  }

  /** Runs work when its turn comes. @throws whatever the work throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    const began = this.#options.now();
    try {
      return await work();
    } finally {
      void this.#rest(began, this.#options.now()).then(resolve);
    }
  }

  async #rest(began: number, ended: number): Promise<void> {
    const { rests, longestMs, now, sleep } = this.#options;
    const left = () => Math.min(longestMs, rests() * (ended - began)) - (now() - ended);
    for (let ms = left(); ms > 0; ms = left()) await sleep(ms);
  }
}
