/** Most pages that are held at once. Each may take some megabytes. */
const MOST_PAGES = 4;
/** Time after which a page is dropped: its caller did not return. */
const PATIENCE_MS = 5_000;

interface Waiting<Page> {
  /** State of coins and mempool that the page was read from. */
  readonly version: string;
  readonly at: number;
  readonly page: Promise<Page | null>;
}

/** Holds pages that were read before they are asked for. Reads nothing ahead while it is full. */
export class ReadAhead<Page> {
  readonly #pages = new Map<string, Waiting<Page>>();
  readonly #now: () => number;

  /** @param now monotonic milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Removes and returns a page. Null when there is none, when reading it failed, or when coins or mempool have changed
   * since.
   */
  async take(name: string, version: string): Promise<Page | null> {
    const waiting = this.#pages.get(name);
    this.#pages.delete(name);
    return waiting?.version === version ? await waiting.page : null;
  }

  /** Begins to read a page. A failure is dropped: the caller of the page reads it again and gets the error. */
  read(name: string, version: string, read: () => Promise<Page>): void {
    const latest = this.#now() - PATIENCE_MS;
    for (const [each, { at }] of this.#pages) if (at < latest) this.#pages.delete(each);
    if (this.#pages.size < MOST_PAGES)
      this.#pages.set(name, { version, at: this.#now(), page: read().catch(() => null) });
  }
}
