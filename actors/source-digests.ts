import { readTip } from '../src/db/block-hashes.ts';
import { inSnapshot } from '../src/db/block-reader.ts';
import type { Connection } from '../src/db/connection.ts';
import {
  digestPlans,
  readDigests,
  readRangeRows,
  readRanges,
  sumOf,
  type TableFigures,
  wholeTable
} from '../src/db/digest.ts';
import { readLayout, type SourceLayout } from '../src/db/source-layout.ts';
import { PlatformError } from '../src/errors.ts';
import type { BlockHashes } from '../src/wire/database.ts';
import type { DatabaseDigest, DigestQuery, RangeRows, TableRanges } from '../src/wire/digest.ts';
import { Line } from './line.ts';
import type { SourceActorData } from './protocol.ts';

/** The snapshot that an answer is read in. */
interface Head {
  readonly height: number;
  readonly hashes: BlockHashes;
  readonly fingerprint: string;
  /** Those that were broadcast before it. */
  readonly reorgs: number;
}

/** What is asked of the feed. */
export interface DigestFeed {
  /** Reorgs that were broadcast: what was read before one says nothing after it, also under the same hashes. */
  readonly reorgs: () => number;
  /** Whether a table is still what was broadcast of it. */
  readonly isSettled: SettledCheck;
}

type SettledCheck = (connection: Connection, layout: SourceLayout, table: string, tip: Head) => Promise<boolean>;

/**
 * Answers what clients ask of digests, one after the other, on a connection of its own that lasts as long as someone waits:
 * polling is not delayed by it.
 *
 * The digest of all tables is read once for each tip and kept until the next one, or a reorg. Tables may change in place between
 * two blocks: it is forgotten when a table or a range turns out to hold other rows than it says.
 */
export class SourceDigests {
  readonly #data: Pick<SourceActorData, 'id' | 'localTables'>;
  readonly #line: Line;
  readonly #feed: DigestFeed;
  #waiting = 0;
  #kept: { readonly key: string; readonly tables: readonly TableFigures[] } | undefined;

  constructor(data: Pick<SourceActorData, 'id' | 'localTables'>, open: () => Promise<Connection>, feed: DigestFeed) {
    this.#data = data;
    this.#line = new Line(open);
    this.#feed = feed;
  }

  /** @returns the answer's body. @throws {PlatformError} BLOCKS_EMPTY, REQUEST_INVALID, RANGE_TOO_LARGE */
  async read(query: DigestQuery): Promise<string> {
    this.#waiting++;
    try {
      const answer = await this.#line.use((connection) => {
        const reorgs = this.#feed.reorgs();
        return inSnapshot(connection, async () => {
          const layout = await readLayout(connection, this.#data.id.dbType, this.#data.localTables);
          const tip = layout.heads && (await readTip(connection, layout.heads));
          if (!tip) throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' });
          return this.#answer(connection, layout, { ...tip, fingerprint: layout.fingerprint, reorgs }, query);
        });
      });
      return JSON.stringify(answer);
    } finally {
      if (--this.#waiting === 0) this.#line.destroy();
    }
  }

  /** Ends what is under way. */
  destroy(): void {
    this.#line.destroy();
  }

  async #answer(
    connection: Connection,
    layout: SourceLayout,
    tip: Head,
    query: DigestQuery
  ): Promise<DatabaseDigest | TableRanges | RangeRows> {
    const { height, hashes, fingerprint, reorgs } = tip;
    const head = { block_height: height, ...hashes, fingerprint };
    const key = JSON.stringify([reorgs, head]);
    if (query.table === null) {
      const tables = await this.#digests(connection, layout, height, key);
      return { ...head, tables: tables.map(({ ranges: _, ...table }) => table) };
    }
    const plan = digestPlans(layout).find(({ name }) => name === query.table);
    if (!plan) throw new PlatformError('REQUEST_INVALID', { reason: `table ${query.table} is not compared` });
    const kept = this.#kept?.key === key ? this.#kept.tables.find(({ table }) => table === plan.name) : undefined;
    if (query.range === null) {
      const known = query.settled ? undefined : kept?.ranges;
      const ranges = known ?? (await readRanges(connection, layout.tables, plan, wholeTable(plan, height)));
      const sums = sumOf(ranges);
      const isSaid = this.#check(kept?.digest, sums.digest);
      const isSettled = () => this.#feed.isSettled(connection, layout, plan.name, tip);
      const settled = query.settled ? { settled: (await isSettled()) && isSaid } : {};
      return { ...head, table: plan.name, ...settled, ...sums, ranges: [...ranges] };
    }
    const { from, to, block } = query.range;
    if (from > to || to > wholeTable(plan, height).to || (block !== null && plan.class !== 'scoped')) {
      throw new PlatformError('REQUEST_INVALID', { reason: `${plan.name} has no such range` });
    }
    const said = block === null ? kept?.ranges.find((range) => range.from === from && range.to === to) : undefined;
    if (query.rows) {
      const { rows, digest } = await readRangeRows(connection, layout.tables, plan, query.range);
      this.#check(said?.digest, digest);
      return { ...head, table: plan.name, rows: rows.length, digest, data: rows };
    }
    const ranges = await readRanges(connection, layout.tables, plan, query.range);
    this.#check(said?.digest, sumOf(ranges).digest);
    return { ...head, table: plan.name, ...sumOf(ranges), ranges };
  }

  async #digests(
    connection: Connection,
    layout: SourceLayout,
    height: number,
    key: string
  ): Promise<readonly TableFigures[]> {
    if (this.#kept?.key === key) return this.#kept.tables;
    const tables = await readDigests(connection, layout, height);
    this.#kept = { key, tables };
    return tables;
  }

  /** @returns false when what was said is forgotten */
  #check(said: string | undefined, found: string): boolean {
    const isSaid = said === undefined || said === found;
    if (!isSaid) this.#kept = undefined;
    return isSaid;
  }
}
