import type { Logger } from '../../../log.ts';

/** A source whose minority report held a block up for longer is doubted until it has named DOUBTED_BLOCKS right. */
const HELD_UP_MS = 1_000;
const DOUBTED_BLOCKS = 100;

/** Sources whose report alone holds no block up: one that contradicts and is silent when asked would hold up each block. */
export class DoubtedSources {
  /** With the blocks that they have still to name as the majority does. */
  readonly #left = new Map<string, number>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  get urls(): readonly string[] {
    return [...this.#left.keys()];
  }

  /** @param reports what each source said of a block @param heldUpMs how long the block waited after it was contested */
  weigh(height: number, agreed: string, reports: ReadonlyMap<string, string>, heldUpMs: number): void {
    for (const [url, hash] of reports) {
      const left = this.#left.get(url);
      if (hash !== agreed && (left !== undefined || heldUpMs > HELD_UP_MS)) {
        this.#left.set(url, DOUBTED_BLOCKS);
        if (left === undefined)
          this.#log.warn(
            { block: height, source: url },
            `${url} held block ${height} up and is in the minority: its report alone holds up no more until it has agreed with ${DOUBTED_BLOCKS} blocks`
          );
      } else if (left !== undefined && hash === agreed) {
        if (left > 1) this.#left.set(url, left - 1);
        else this.#left.delete(url);
      }
    }
  }
}
