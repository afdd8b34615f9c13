import type { TickRows } from './sanity.ts';

/** Rows that checks may read. */
interface Effort {
  /** Most rows of a ticker that is checked whenever it moved. */
  readonly smallRows: number;
  /** Rows of a larger ticker that a check may read for each row that was moved since the last check. */
  readonly readPerMoved: number;
  /** Movements after which a ticker that was never checked is due. */
  readonly firstAfter: number;
}

/** Effort for a block at the tip, where nothing is waiting. */
const AT_THE_TIP: Effort = { smallRows: 100, readPerMoved: 5, firstAfter: 1 };
/** Effort for a group of blocks. */
const CATCH_UP: Effort = { smallRows: 0, readPerMoved: 4, firstAfter: 50 };

/** Tickers after which those before them are forgotten: anybody may issue and move millions. */
const MOST_KNOWN = 200_000;

/** State of one ticker. */
interface Known {
  /** Rows that its last check read; null before the first one. */
  readonly size: number | null;
  /** Movements since then. */
  readonly moved: number;
}

/**
 * Decides when the sums over all rows of a ticker are checked: of small ones always, of large ones when enough was moved.
 *
 * So what checks cost does not grow with the rows of the tickers that blocks move. Between two checks the sums change by what
 * is compared with each group.
 */
export class SanitySchedule {
  readonly #known = new Map<number, Known>();

  /**
   * Counts movements, and returns the tickers that are due.
   *
   * @param moved number of movements of the blocks to write, by ticker id
   * @param isGroup whether they are a group of blocks, as in a catch-up
   * @returns ids of the tickers to check with these blocks
   */
  begin(moved: ReadonlyMap<number, number>, isGroup: boolean): readonly number[] {
    const effort = isGroup ? CATCH_UP : AT_THE_TIP;
    if (this.#known.size > MOST_KNOWN) this.#forget();
    const due: number[] = [];
    for (const [id, rows] of moved) {
      const { size, moved: before } = this.#known.get(id) ?? { size: null, moved: 0 };
      this.#known.set(id, { size, moved: before + rows });
      if (before + rows >= patience(size, effort)) due.push(id);
    }
    return due;
  }

  /** Forgets tickers but those that are never due again: the others count as never checked, as after a start. */
  #forget(): void {
    for (const [id, { size }] of this.#known) if (size !== Number.POSITIVE_INFINITY) this.#known.delete(id);
  }

  /** Takes note of a check that passed. @returns ids of the tickers that had too many rows; they are never due again */
  finish(checked: TickRows): readonly number[] {
    for (const [id, size] of checked) this.#known.set(id, { size, moved: 0 });
    return [...checked.keys()].filter((id) => checked.get(id) === Number.POSITIVE_INFINITY);
  }
}

/** Movements after which a ticker is due. */
function patience(size: number | null, { smallRows, readPerMoved, firstAfter }: Effort): number {
  if (size === null) return firstAfter;
  return size <= smallRows ? 1 : Math.ceil(size / readPerMoved);
}
