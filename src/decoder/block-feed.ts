import { type BlockRange, RangeFeed, type RangeFeedOptions } from '../chain/range-feed.ts';
import type { AddressVersions } from '../coin/chains.ts';
import type { BlockRows } from './block-rows.ts';
import { PaymentMarks } from './payment-marks.ts';

/** What a range is asked for beside its blocks. */
interface Wanted {
  /** Marks of scripts whose payments are looked for. */
  readonly wanted: Uint32Array;
}

/** Blocks in a row, and payments in them. */
export type WatchedRange = BlockRange & Wanted;

/** A block, and what its outputs pay to. */
export interface MarkedBlock extends BlockRows {
  /** Of the outputs' scripts. */
  readonly marks: Uint32Array;
}

export interface BlockFeedOptions extends RangeFeedOptions<WatchedRange, MarkedBlock> {
  /** Addresses of the chain. */
  readonly versions: AddressVersions;
}

/** The next blocks of a chain as rows, fetched and scanned ahead within a bound. */
export class BlockFeed {
  readonly #ranges: RangeFeed<Wanted, MarkedBlock>;
  readonly #marks: PaymentMarks;
  /** What is looked for in ranges that are not fetched yet. */
  #asked: { readonly marks: ReadonlySet<number>; readonly wanted: Uint32Array } | undefined;

  constructor({ versions, ...options }: BlockFeedOptions) {
    this.#ranges = new RangeFeed(options);
    this.#marks = new PaymentMarks(versions);
  }

  /** Attempts that failed since the start. */
  get errorCount(): number {
    return this.#ranges.errorCount;
  }

  /** Attempts at the blocks that are next which failed. */
  get failures(): number {
    return this.#ranges.failures;
  }

  /**
   * The blocks from a height on, as many as may be written at once.
   *
   * @param tip  nothing above it is fetched
   * @param paid  addresses of the dispensers below the height: payments to them, and to those that these blocks open, are found
   * @returns one block near the tip, else some megabytes of them
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED; asking again fetches again
   */
  async take(height: number, tip: number, paid: readonly string[], signal: AbortSignal): Promise<readonly BlockRows[]> {
    const marks = this.#marks.of(paid);
    if (marks !== this.#asked?.marks) this.#asked = { marks, wanted: Uint32Array.from(marks) };
    const { range, blocks } = await this.#ranges.take(height, tip, { wanted: this.#asked.wanted }, signal);
    const opened = openedIn(blocks);
    if (opened.length === 0 && range.wanted === this.#asked.wanted) return blocks;
    const wanted = marks.union(this.#marks.ofMore(opened));
    const missed = wanted.difference(new Set(range.wanted));
    const first = missed.size === 0 ? -1 : blocks.findIndex(({ marks }) => marks.some((mark) => missed.has(mark)));
    if (first === -1) return blocks;
    const rest = { ...range, from: height + first, count: blocks.length - first, wanted: Uint32Array.from(wanted) };
    const again = await this.#ranges.scan(rest, signal);
    return [...blocks.slice(0, first), ...sameBlocks(again.blocks, blocks.slice(first))];
  }

  /** Forgets what was fetched: it belongs to a branch that was left, or to a node that failed. */
  clear(): void {
    this.#ranges.clear();
  }
}

/** Addresses at which these blocks open dispensers. */
function openedIn(blocks: readonly BlockRows[]): readonly string[] {
  return blocks.flatMap(({ transactions }) =>
    transactions.flatMap(({ source, dispensers: { opened } }) => opened.map(({ address }) => address ?? source))
  );
}

/** These blocks as far as they are those, for the node may have changed its branch meanwhile. */
function sameBlocks(blocks: readonly BlockRows[], those: readonly BlockRows[]): readonly BlockRows[] {
  const other = blocks.findIndex(({ hash }, position) => hash !== those[position]!.hash);
  return other === -1 ? blocks : blocks.slice(0, other);
}
