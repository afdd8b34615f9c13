import type { TickRows } from './sanity.ts';

/** Tickers with fewer rows are checked after every group of blocks that moved some of them. */
const SMALL_ROWS = 2_000;
/** Groups between two checks of a ticker, for each row: a check costs a group no more than one that moves so many. */
const ROWS_PER_GROUP = 500;

/**
 * When the sums of a ticker are checked: small ones always, large ones the more rarely the more rows they have.
 *
 * So the cost of a block does not grow with the rows of the tickers that it moves.
 */
export class SanitySchedule {
  /** By ticker id, the group in which it is due; what is not here is due. */
  readonly #dueAt = new Map<number, number>();
  #group = 0;

  /** Which of the tickers that a group moved are to be checked with it. */
  begin(tickIds: readonly number[]): readonly number[] {
    this.#group++;
    return tickIds.filter((id) => (this.#dueAt.get(id) ?? 0) <= this.#group);
  }

  /** Takes note of a check that passed. */
  finish(checked: TickRows): void {
    for (const [id, size] of checked) {
      const pause = size < SMALL_ROWS ? 1 : Math.ceil(size / ROWS_PER_GROUP);
      this.#dueAt.set(id, this.#group + pause);
    }
  }
}
