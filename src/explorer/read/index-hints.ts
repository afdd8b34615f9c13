import type { Filter, Way } from '../lists/list.ts';
import type { Query } from './reader.ts';

/** Runs work on the database, apart from what callers wait for. */
type Aside = <T>(work: (query: Query) => Promise<T>) => Promise<T>;

const SETTLED_MS = 60_000;
const INDEXES = `SELECT DISTINCT CONCAT(table_name, '.', index_name) AS name FROM information_schema.statistics
  WHERE table_schema = DATABASE()`;

/**
 * Names in statements the index that has a list's keys in order.
 *
 * A prepared statement that MariaDB prepares again, since a table was analyzed or left its cache, keeps another plan from then on: it
 * reads a page behind a cursor from the newest row on. An index that is named has to exist, so it is looked once a minute which do.
 */
export class IndexHints {
  readonly #aside: Aside;
  #known: ReadonlySet<string> = new Set();
  #hinted = new WeakMap<Filter, Filter>();
  #until = 0;
  #looking: Promise<void> | undefined;

  constructor(aside: Aside) {
    this.#aside = aside;
  }

  /**
   * Looks which indexes there are, once a minute; the first look is waited for. Not for work in a snapshot: a session that alters a table
   * would wait for the snapshot, the look for that session, and the work for the look.
   */
  async refresh(): Promise<void> {
    if (performance.now() > this.#until) this.#looking ??= this.#look();
    if (this.#until === 0) await this.#looking;
  }

  /** Returns the filter with the indexes named that the database had at the last look. */
  of(filter: Filter): Filter {
    const known = this.#hinted.get(filter);
    if (known) return known;
    const hinted = { ...filter, ways: filter.ways.map((way) => this.#hint(way)) };
    this.#hinted.set(filter, hinted);
    return hinted;
  }

  #hint(way: Way): Way {
    const [table = '', alias = '', ...joined] = way.from.split(' ');
    const index = way.indexes?.find((name) => this.#known.has(`${table}.${name}`));
    return index === undefined ? way : { ...way, from: [table, alias, `FORCE INDEX (${index})`, ...joined].join(' ') };
  }

  /** Looks which indexes there are. While the database does not answer, the last finding stays. */
  async #look(): Promise<void> {
    try {
      const found = await this.#aside((query) => query<{ name: string }>(INDEXES));
      const known = new Set(found.map(({ name }) => name));
      if (known.symmetricDifference(this.#known).size > 0) this.#hinted = new WeakMap();
      this.#known = known;
      this.#until = performance.now() + SETTLED_MS;
    } catch {
      // Whoever asks next looks again; the breaker says that the database does not answer.
    } finally {
      this.#looking = undefined;
    }
  }
}
