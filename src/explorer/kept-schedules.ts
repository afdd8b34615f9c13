import type { Coin } from './coins.ts';

/** Prices change between blocks. */
const KEEP_MS = 10_000;

interface Kept {
  readonly mark: string | null;
  readonly since: number;
  readonly answer: Promise<unknown>;
}

/** Fee schedules of each network's indexer: asked once for all callers, again after a block and after some seconds. */
export class KeptSchedules {
  readonly #kept = new WeakMap<Coin, Kept>();

  /** @throws {PlatformError} what the indexer is refused with; it is asked again then */
  async read(coin: Coin): Promise<unknown> {
    const mark = coin.report()?.mark ?? null;
    const known = this.#kept.get(coin);
    if (known?.mark === mark && performance.now() - known.since < KEEP_MS) return await known.answer;
    const kept: Kept = { mark, since: performance.now(), answer: coin.askIndexer('feeschedule', {}) };
    this.#kept.set(coin, kept);
    kept.answer.catch(() => {
      if (this.#kept.get(coin) === kept) this.#kept.delete(coin);
    });
    return await kept.answer;
  }
}
