/** Tickers that the reason names. The others are counted. */
const MOST_NAMED = 5;

/** Tickers whose sums over all rows are left out, because these rows take too long to add up. */
export class LeftOutSums {
  readonly #named: string[] = [];
  #count = 0;

  /** Takes note of tickers. @param ids their ids @param tickers ids of all tickers, by `tickKey` */
  add(ids: readonly number[], tickers: ReadonlyMap<string, number>): void {
    this.#count += ids.length;
    for (const id of ids.slice(0, MOST_NAMED - this.#named.length))
      this.#named.push(tickers.entries().find((entry) => entry[1] === id)?.[0] ?? `^${id}`);
  }

  /** Reason for which sums are left out, with the remedy; null while none is. */
  get fault(): string | null {
    if (this.#count === 0) return null;
    const others = this.#count > this.#named.length ? ` and ${this.#count - this.#named.length} more` : '';
    return `the rows of ${this.#named.join(', ')}${others} take too long to add up: until the next start the indexer compares only what each block changes of these tickers; give MariaDB more memory (innodb_buffer_pool_size) or a quieter disk, then restart the indexer`;
  }
}
