import { availableParallelism } from 'node:os';

/** A thread that is slower to come up does not keep the others waiting. */
const PATIENCE_MS = 15_000;

/** Two use a core well: one reads its files while the other computes; and on a loaded machine two have two shares of it. */
const STARTS_PER_CORE = 2;

/** Lets a few threads start at a time, in order: some are up soon, where all at once would all be late. */
export class StartGate {
  readonly #limit: number;
  readonly #patienceMs: number;
  readonly #waiting: (() => void)[] = [];
  #starting = 0;

  constructor(limit = STARTS_PER_CORE * availableParallelism(), patienceMs = PATIENCE_MS) {
    this.#limit = limit;
    this.#patienceMs = patienceMs;
  }

  /** Waits for a turn. @returns what gives it back: call it when the thread is up or gone; a second call does nothing */
  async enter(): Promise<() => void> {
    if (this.#starting >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#starting += 1;
    const leave = () => {
      clearTimeout(patience);
      if (hasLeft) return;
      hasLeft = true;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#starting -= 1;
    };
    let hasLeft = false;
    const patience = setTimeout(leave, this.#patienceMs).unref();
    return leave;
  }
}
