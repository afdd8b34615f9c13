import { PRICE_SETTLEMENT_S } from '../../coin/foreign-prices.ts';
import { MEDIAN_BLOCKS, medianTime } from '../../consensus/median-time.ts';
import { checkBase, type DatabaseBase } from '../../db/base.ts';
import { type Connection, connect, databaseError, rows } from '../../db/connection.ts';
import { inSnapshot } from '../../db/in-snapshot.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { ChainBlock, SettledPrices } from '../block/block.ts';
import { readRounds } from '../store/facts/signers.ts';
import { LEDGER_BASE_TABLE } from '../store/ledger-base.ts';
import { refusedStatement } from '../store/refused-rows.ts';
import type { BlockRef } from '../store/store.ts';

/** Leading blocks that have their prices, and the reason for which the next one has none. */
interface PricedBlocks {
  readonly blocks: readonly ChainBlock[];
  /** Reason to wait; null where all blocks have their prices. */
  readonly waitReason: string | null;
}

const REMEDY = 'wait, or see why that indexer does not go on';

/** First and newest block of the ledger that has the prices. */
interface Range {
  readonly lowest: number;
  readonly highest: number;
}

/**
 * Reads the rounds of prices in the index of Bitcoin for the blocks of another chain.
 *
 * A block with the median time T gets the rounds that Bitcoin blocks with a median time of at most T - PRICE_SETTLEMENT_S have
 * written. It gets none before a Bitcoin block with a later median time is there, so the rounds of a block are the same
 * whenever they are read. Median times of a chain never fall. A method that throws leaves the connection unusable.
 */
export class PriceSource {
  readonly #connection: Connection;
  readonly #name: string;
  /** Median times by height, within one call. */
  #medians = new Map<number, number>();
  #settled: SettledPrices | undefined;

  private constructor(connection: Connection, name: string) {
    this.#connection = connection;
    this.#name = name;
  }

  /**
   * Opens the index of Bitcoin. @throws {PlatformError} DATABASE_UNAVAILABLE, DATABASE_REFUSED, DATABASE_UNUSABLE (no
   * index of Bitcoin by the same profile)
   */
  static async open(database: DatabaseCoordinates, base: DatabaseBase, statementLimitS: number): Promise<PriceSource> {
    const source = new PriceSource(await connect(database, { statementLimitS }), database.name);
    const tip = (await source.#readRange())?.highest ?? -1;
    await source.#guarded(() => checkBase(source.#connection, LEDGER_BASE_TABLE, base, tip));
    return source;
  }

  /**
   * Adds the prices that count to blocks that follow each other, all read in one snapshot.
   *
   * @param times times of the blocks below them, as many as a median takes
   * @param last Bitcoin block whose prices the block below them had; null for none
   * @throws {PlatformError} PRICES_REPLACED if Bitcoin now has another block in its place
   */
  async price(blocks: readonly ChainBlock[], times: readonly number[], last: BlockRef | null): Promise<PricedBlocks> {
    this.#medians = new Map();
    return await this.#guarded(() => inSnapshot(this.#connection, () => this.#price(blocks, times, last)));
  }

  close(): void {
    this.#connection.destroy();
  }

  async #price(blocks: readonly ChainBlock[], times: readonly number[], last: BlockRef | null): Promise<PricedBlocks> {
    const priced: ChainBlock[] = [];
    const waiting = (waitReason: string): PricedBlocks => ({ blocks: priced, waitReason });
    const range = await this.#readRange();
    if (range === null) return waiting(`the index of Bitcoin with the prices, ${this.#name}, has no block: ${REMEDY}`);
    if (last && !(await this.#stillHas(last)))
      return waiting(
        `the index of Bitcoin with the prices, ${this.#name}, is at block ${range.highest}, below ${last.height}, whose prices are in use: ${REMEDY}`
      );
    const newest = await this.#median(range.highest);
    const all = [...times];
    for (const block of blocks) {
      all.push(block.time);
      const limit = medianTime(all) - PRICE_SETTLEMENT_S;
      if (newest <= limit)
        return waiting(
          `block ${block.height} needs the prices of all Bitcoin blocks up to the median time ${limit}; the index of Bitcoin, ${this.#name}, is at ${newest}, block ${range.highest}: ${REMEDY}`
        );
      const at = await this.#newestUpTo(limit, range);
      priced.push({ ...block, prices: await this.#pricesAt(at) });
    }
    return { blocks: priced, waitReason: null };
  }

  async #stillHas({ height, hash }: BlockRef): Promise<boolean> {
    const now = await this.#hashAt(height);
    if (now === null || now === hash) return now !== null;
    const reason = `block ${height} of Bitcoin is now ${now}, but the ledger used prices up to ${hash} at that height`;
    throw new PlatformError('PRICES_REPLACED', { reason });
  }

  /**
   * Returns the newest block whose median time is at most a limit. The newest block of all must exceed the limit. It is
   * null where the first block exceeds it too.
   */
  async #newestUpTo(limit: number, { lowest, highest }: Range): Promise<BlockRef | null> {
    let [low, high] = [lowest - 1, highest];
    const known = this.#settled?.at?.height;
    if (known !== undefined && known >= lowest && known < highest && (await this.#median(known)) <= limit) {
      low = known;
      for (let step = 1; low + step < high; step *= 2) {
        if ((await this.#median(low + step)) > limit) high = low + step;
        else low += step;
      }
    }
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((await this.#median(middle)) <= limit) low = middle;
      else high = middle;
    }
    const hash = low < lowest ? null : await this.#hashAt(low);
    return hash === null ? null : { height: low, hash };
  }

  /** Returns the prices at a Bitcoin block. They are kept, because neighbouring blocks mostly have the same. */
  async #pricesAt(at: BlockRef | null): Promise<SettledPrices> {
    const known = this.#settled;
    if (known && known.at?.hash === at?.hash) return known;
    const rounds = at === null ? [] : await this.#guarded(() => readRounds(this.#connection, at.height));
    this.#settled = { at, rounds };
    return this.#settled;
  }

  async #median(height: number): Promise<number> {
    const known = this.#medians.get(height);
    if (known !== undefined) return known;
    const found = await this.#query<{ time: number }>(
      'SELECT block_time AS time FROM blocks WHERE block_index BETWEEN ? AND ? ORDER BY block_index',
      [height - MEDIAN_BLOCKS + 1, height]
    );
    const median = medianTime(found.map(({ time }) => Number(time)));
    this.#medians.set(height, median);
    return median;
  }

  async #readRange(): Promise<Range | null> {
    const [range] = await this.#query<{ lowest: number | null; highest: number | null }>(
      'SELECT MIN(block_index) AS lowest, MAX(block_index) AS highest FROM blocks'
    );
    return range?.lowest == null || range.highest === null ? null : { lowest: range.lowest, highest: range.highest };
  }

  async #hashAt(height: number): Promise<string | null> {
    const [block] = await this.#query<{ hash: string }>(
      'SELECT block_hash AS hash FROM chain_blocks WHERE block_index = ?',
      [height]
    );
    return block?.hash ?? null;
  }

  async #query<T extends Record<string, unknown>>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return await this.#guarded(() => rows<T>(this.#connection, sql, values));
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (caught) {
      this.#connection.destroy();
      throw caught instanceof PlatformError
        ? caught
        : (refusedStatement(caught, 'the index of Bitcoin with the prices') ?? databaseError(caught));
    }
  }
}
