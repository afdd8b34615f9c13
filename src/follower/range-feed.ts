import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, PlatformError } from '../errors.ts';

/** Consecutive blocks. */
export interface BlockRange {
  readonly from: number;
  readonly count: number;
  /** Whether they are so small that the request for each costs more than its bytes. */
  readonly isSmall: boolean;
}

/** Result of the scan of a range. */
export interface ScannedRange<Block> {
  /** Blocks from the range's first on. There are fewer than requested where they turned out to be large. */
  readonly blocks: readonly Block[];
  /** Bytes that the node sent for them. */
  readonly sizeBytes: number;
}

/** Scan and limits of a feed of ranges. */
export interface RangeFeedOptions<Range extends BlockRange, Block> {
  /** Makes one attempt at a range. @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED */
  readonly scan: (range: Range, signal: AbortSignal) => Promise<ScannedRange<Block>>;
  /** Most ranges that are scanned at the same time. */
  readonly parallelism: number;
  /** Most blocks of a range; default 500. */
  readonly mostBlocks?: number;
  /** Approximate bytes of a range's blocks; default 8 MB. */
  readonly rangeBytes?: number;
  /** Attempts after the first; default 10. */
  readonly retries?: number;
  /** Pause before another attempt; default 500 ms. */
  readonly retryDelayMs?: number;
  /** Pause where the node says that it is asked too much; default 5 s. */
  readonly rateLimitDelayMs?: number;
}

const RANGE_BYTES = 8 * 2 ** 20;
const MOST_BLOCKS = 500;
/** Blocks of the first range, while no block's size is known. */
const FIRST_RANGE = 16;
const SMALL_BLOCK_BYTES = 20_000;
/** Distance from the tip, in blocks, within which blocks are handed out one by one. */
const TIP_BLOCKS = 3;
/** Ranges that must succeed, after the node was overloaded, before one more is scanned at the same time. */
const RECOVERY = 16;
const BUSY = new Set<unknown>([429, 503]);

/**
 * Returns the number of ranges to scan at once. It is at least 2, because a range mostly waits for the node, and at
 * most 4, because a node has 4 threads for callers by default.
 */
export function scanParallelism(cores: number): number {
  return Math.min(4, Math.max(2, cores - 1));
}

/**
 * Feed of ranges of blocks, fetched and scanned ahead within a bound.
 *
 * @typeParam Asked options of the request of a range, beside its blocks
 */
export class RangeFeed<Asked extends object, Block> {
  readonly #options: Required<RangeFeedOptions<BlockRange & Asked, Block>>;
  #ahead: { readonly range: BlockRange & Asked; readonly scanned: Promise<ScannedRange<Block>> }[] = [];
  #blockBytes: number | null = null;
  #parallelism: number;
  #wellDone = 0;
  #errorCount = 0;
  /** Attempts that failed since the last success, by the first block of their range. */
  readonly #failed = new Map<number, number>();
  #next = 0;

  constructor(options: RangeFeedOptions<BlockRange & Asked, Block>) {
    this.#options = {
      mostBlocks: MOST_BLOCKS,
      rangeBytes: RANGE_BYTES,
      retries: 10,
      retryDelayMs: 500,
      rateLimitDelayMs: 5_000,
      ...options
    };
    this.#parallelism = options.parallelism;
  }

  /** Attempts that failed since the start. */
  get errorCount(): number {
    return this.#errorCount;
  }

  /** Failed attempts at the next blocks. */
  get failures(): number {
    return this.#failed.get(this.#next) ?? 0;
  }

  /**
   * Returns the blocks from a height on, as many as may be written at once.
   *
   * @param tip nothing above it is fetched
   * @param asked options of ranges that are not fetched yet
   * @returns one block near the tip, else some megabytes of blocks, and their range
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED; asking again fetches again
   */
  async take(height: number, tip: number, asked: Asked, signal: AbortSignal) {
    this.#next = height;
    for (const from of this.#failed.keys()) if (from < height) this.#failed.delete(from);
    if (this.#ahead[0]?.range.from !== height) this.#ahead = [];
    this.#fill(height, tip, asked, signal);
    const { range, scanned } = this.#ahead.shift()!;
    return { range, blocks: (await scanned).blocks };
  }

  /** Drops fetched blocks: they belong to an abandoned branch, or to a node that failed. */
  clear(): void {
    this.#ahead = [];
    this.#blockBytes = null;
  }

  /** Fetches one range more than are scanned at once, so that no scan waits for a write. */
  #fill(height: number, tip: number, asked: Asked, signal: AbortSignal): void {
    const last = this.#ahead.at(-1)?.range;
    let from = last ? last.from + last.count : height;
    while (from <= tip && this.#ahead.length <= this.#parallelism) {
      const range = { ...this.#rangeAt(from, tip), ...asked };
      const scanned = this.scan(range, signal);
      scanned.catch(() => undefined); // rethrown to the caller that takes it
      this.#ahead.push({ range, scanned });
      from += range.count;
    }
  }

  #rangeAt(from: number, tip: number): BlockRange {
    const isSmall = this.#blockBytes !== null && this.#blockBytes < SMALL_BLOCK_BYTES;
    if (from > tip - TIP_BLOCKS) return { from, count: 1, isSmall };
    const { mostBlocks, rangeBytes } = this.#options;
    const fitting = this.#blockBytes === null ? FIRST_RANGE : Math.floor(rangeBytes / this.#blockBytes);
    return { from, count: Math.max(1, Math.min(fitting, mostBlocks, tip - TIP_BLOCKS + 1 - from)), isSmall };
  }

  /** Scans one range, with more attempts where the node cannot be reached. */
  async scan(range: BlockRange & Asked, signal: AbortSignal): Promise<ScannedRange<Block>> {
    const { scan, retries } = this.#options;
    for (let attempt = 0; ; attempt++) {
      try {
        const scanned = await scan(range, signal);
        this.#noteSuccess(range, scanned);
        return scanned;
      } catch (caught) {
        signal.throwIfAborted();
        const error = PlatformError.from(caught);
        this.#noteFailure(range, error);
        if (!hasCode(error, 'NODE_UNREACHABLE') || attempt >= retries) throw error;
        await sleep(this.#pauseMs(error), undefined, { signal });
      }
    }
  }

  #noteSuccess({ from }: BlockRange, { blocks, sizeBytes }: ScannedRange<Block>): void {
    this.#failed.delete(from);
    this.#blockBytes = Math.max(1, sizeBytes / blocks.length);
    this.#wellDone += 1;
    if (this.#wellDone < RECOVERY) return;
    this.#wellDone = 0;
    this.#parallelism = Math.min(this.#options.parallelism, this.#parallelism + 1);
  }

  #noteFailure({ from }: BlockRange, error: PlatformError): void {
    this.#errorCount += 1;
    this.#failed.set(from, (this.#failed.get(from) ?? 0) + 1);
    this.#wellDone = 0;
    if (BUSY.has(error.detail['status'])) this.#parallelism = Math.max(1, Math.floor(this.#parallelism / 2));
  }

  #pauseMs({ detail }: PlatformError): number {
    return detail['status'] === 429 ? this.#options.rateLimitDelayMs : this.#options.retryDelayMs;
  }
}
