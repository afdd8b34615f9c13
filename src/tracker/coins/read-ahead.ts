/** Pages that wait at once: each may hold some megabytes. */
const MOST_PAGES = 4;
/** A caller that has not come back for its next page by then is gone. */
const PATIENCE_MS = 5_000;

interface Waiting<Page> {
  /** Names the state of coins and mempool that it was read from. */
  readonly version: string;
  readonly at: number;
  readonly page: Promise<Page | null>;
}

/** Keeps pages that were read before they are asked for. Where all places are taken, it reads nothing ahead. */
export class ReadAhead<Page> {
  readonly #pages = new Map<string, Waiting<Page>>();
  readonly #now: () => number;

  /** @param now milliseconds that never go back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The page of this name, once; null: there is none, it could not be read, or coins or mempool have changed since. */
  async take(name: string, version: string): Promise<Page | null> {
    const waiting = this.#pages.get(name);
    this.#pages.delete(name);
    return waiting?.version === version ? await waiting.page : null;
  }

  /** Begins to read a page. A read that fails is forgotten: whoever asks for the page reads it again and is told why. */
  read(name: string, version: string, read: () => Promise<Page>): void {
    const latest = this.#now() - PATIENCE_MS;
    for (const [each, { at }] of this.#pages) if (at < latest) this.#pages.delete(each);
    if (this.#pages.size < MOST_PAGES)
      this.#pages.set(name, { version, at: this.#now(), page: read().catch(() => null) });
  }
}
