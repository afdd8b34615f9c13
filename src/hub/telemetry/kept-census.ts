import type { Census } from '../store/census.ts';

/** Days that are counted: a series of days that differ by one would tell when a lone installation spoke. */
export const WINDOWS = [1, 7, 30, 90, 365] as const;
export type Window = (typeof WINDOWS)[number];

const KEPT_MS = 60_000;
/** A census that failed is not begun again for so long. */
const FAILED_MS = 5_000;

interface Kept {
  readonly census: Promise<Census>;
  until: number;
}

/** Keeps the census of each window for a minute, so that its cost does not grow with the questions. */
export class KeptCensus {
  readonly #take: (window: Window) => Promise<Census>;
  readonly #kept = new Map<Window, Kept>();

  constructor(take: (window: Window) => Promise<Census>) {
    this.#take = take;
  }

  /** @throws what taking it throws */
  async read(window: Window): Promise<Census> {
    const known = this.#kept.get(window);
    if (known && performance.now() < known.until) return await known.census;
    const own: Kept = { census: this.#take(window), until: Number.POSITIVE_INFINITY };
    this.#kept.set(window, own);
    const keepFor = (ms: number) => () => {
      own.until = performance.now() + ms;
    };
    own.census.then(keepFor(KEPT_MS), keepFor(FAILED_MS));
    return await own.census;
  }
}
