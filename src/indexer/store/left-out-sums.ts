import { rows, type Statements } from '../../db/connection.ts';

/** Tickers that the reason names. The others are counted. */
const MOST_NAMED = 5;

/** Tickers whose sums over all rows are left out, because these rows take too long to add up. */
export class LeftOutSums {
  readonly #named: string[] = [];
  #count = 0;

  /** Takes note of tickers. @param ids their ids @param reader reads the names of those that the reason names */
  async add(ids: readonly number[], reader: Statements): Promise<void> {
    this.#count += ids.length;
    const named = ids.slice(0, MOST_NAMED - this.#named.length);
    if (named.length === 0) return;
    const found = await rows<{ id: number; tick: string }>(
      reader,
      'SELECT id, tick FROM index_tickers WHERE id IN (?)',
      [named]
    );
    const ticks = new Map(found.map(({ id, tick }) => [Number(id), tick]));
    for (const id of named) this.#named.push(ticks.get(id) ?? `^${id}`);
  }

  /** Reason for which sums are left out, with the remedy; null while none is. */
  get fault(): string | null {
    if (this.#count === 0) return null;
    const others = this.#count > this.#named.length ? ` and ${this.#count - this.#named.length} more` : '';
    return `the rows of ${this.#named.join(', ')}${others} take too long to add up: until the next start the indexer compares only what each block changes of these tickers; give MariaDB more memory (innodb_buffer_pool_size) or a quieter disk, then restart the indexer`;
  }
}
