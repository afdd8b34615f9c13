import type { AddressVersions } from '../coin/chains.ts';
import { SortedMarks } from '../coin/script/sorted-marks.ts';
import { type BlockRange, RangeFeed, type RangeFeedOptions } from '../follower/range-feed.ts';
import type { BlockRows } from './block-rows.ts';
import { marksOf } from './dispensers/payment-marks.ts';

/** Payments to look for in a range. */
interface Wanted {
  /** Marks of the scripts to look for, in ascending order. */
  readonly wanted: Uint32Array;
}

/** Consecutive blocks, with the payments to look for in them. */
export type WatchedRange = BlockRange & Wanted;

/** A block with the marks of the scripts that it pays. */
export interface MarkedBlock extends BlockRows {
  /** Marks of the output scripts. */
  readonly marks: Uint32Array;
}

/** Options of a feed. */
interface BlockFeedOptions extends RangeFeedOptions<WatchedRange, MarkedBlock> {
  /** Address formats of the chain. */
  readonly versions: AddressVersions;
}

/** Returns the next blocks of a chain as rows. It fetches and scans ahead within a bound. */
export class BlockFeed {
  readonly #ranges: RangeFeed<Wanted, MarkedBlock>;
  readonly #versions: AddressVersions;

  constructor({ versions, ...options }: BlockFeedOptions) {
    this.#ranges = new RangeFeed(options);
    this.#versions = versions;
  }

  /** Failed attempts since the start. */
  get errorCount(): number {
    return this.#ranges.errorCount;
  }

  /** Consecutive failed attempts at the next blocks. */
  get failures(): number {
    return this.#ranges.failures;
  }

  /**
   * Returns blocks from a height on, as many as may be written at once.
   *
   * @param tip highest height to fetch
   * @param paid marks of the scripts of dispensers below the height. Payments to them are found, and to dispensers that
   *   these blocks open
   * @returns one block near the tip, else some megabytes of them
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED; the next call fetches again
   */
  async take(height: number, tip: number, paid: SortedMarks, signal: AbortSignal): Promise<readonly BlockRows[]> {
    const { range, blocks } = await this.#ranges.take(height, tip, { wanted: paid.marks }, signal);
    const opened = marksOf(openedIn(blocks), this.#versions);
    const wanted = paid.with(new Map(opened.map((mark) => [mark, true])));
    if (wanted.marks === range.wanted) return blocks;
    const missed = wanted.without(new SortedMarks(range.wanted));
    const first = missed.size === 0 ? -1 : blocks.findIndex(({ marks }) => marks.some((mark) => missed.has(mark)));
    if (first === -1) return blocks;
    const rest = { ...range, from: height + first, count: blocks.length - first, wanted: wanted.marks };
    const again = await this.#ranges.scan(rest, signal);
    return [...blocks.slice(0, first), ...sameBlocks(again.blocks, blocks.slice(first))];
  }

  /** Drops fetched blocks, after a reorg or a failure of the node. */
  clear(): void {
    this.#ranges.clear();
  }
}

/** Returns the addresses at which these blocks open dispensers. */
function openedIn(blocks: readonly BlockRows[]): readonly string[] {
  return blocks.flatMap(({ transactions }) =>
    transactions.flatMap(({ source, dispensers: { opened } }) => opened.map(({ address }) => address ?? source))
  );
}

/** Returns the leading blocks that both lists share: the node may have changed its branch between the two readings. */
function sameBlocks(blocks: readonly BlockRows[], those: readonly BlockRows[]): readonly BlockRows[] {
  const other = blocks.findIndex(({ hash }, position) => hash !== those[position]!.hash);
  return other === -1 ? blocks : blocks.slice(0, other);
}
