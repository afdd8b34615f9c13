import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, PlatformError } from '../errors.ts';

/** Blocks in a row. */
export interface BlockRange {
  readonly from: number;
  readonly count: number;
  /** They are so small that asking for each costs more than their bytes. */
  readonly isSmall: boolean;
}

export interface ScannedRange<Block> {
  /** From the range's first on; fewer than asked for where they turned out to be large. */
  readonly blocks: readonly Block[];
  /** What the node sent for them. */
  readonly sizeBytes: number;
}

export interface RangeFeedOptions<Range extends BlockRange, Block> {
  /** One attempt at a range. @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED */
  readonly scan: (range: Range, signal: AbortSignal) => Promise<ScannedRange<Block>>;
  /** Ranges that are scanned at the same time, at most. */
  readonly parallelism: number;
  /** Blocks of a range at most, default 500. */
  readonly mostBlocks?: number;
  /** Bytes of a range's blocks, roughly; default 8 MB. */
  readonly rangeBytes?: number;
  /** Attempts after the first, default 10. */
  readonly retries?: number;
  /** Pause before another attempt, default 500 ms. */
  readonly retryDelayMs?: number;
  /** Pause where the node says that it is asked too much, default 5 s. */
  readonly rateLimitDelayMs?: number;
}

const RANGE_BYTES = 8 * 2 ** 20;
const MOST_BLOCKS = 500;
/** While no block's size is known. */
const FIRST_RANGE = 16;
const SMALL_BLOCK_BYTES = 20_000;
/** So near to the tip blocks are handed out one by one. */
const TIP_BLOCKS = 3;
/** Ranges that go well before one more is scanned at the same time, after the node had enough. */
const RECOVERY = 16;
const BUSY = new Set<unknown>([429, 503]);

/** Ranges to scan at once: two at least, for a range mostly waits for the node, which has 4 threads for callers by default. */
export function scanParallelism(cores: number): number {
  return Math.min(4, Math.max(2, cores - 1));
}

/**
 * Ranges of blocks, fetched and scanned ahead within a bound.
 *
 * @typeParam Asked  what a range is asked for beside its blocks
 */
export class RangeFeed<Asked extends object, Block> {
  readonly #options: Required<RangeFeedOptions<BlockRange & Asked, Block>>;
  #ahead: { readonly range: BlockRange & Asked; readonly scanned: Promise<ScannedRange<Block>> }[] = [];
  #blockBytes: number | null = null;
  #parallelism: number;
  #wellDone = 0;
  #errorCount = 0;
  /** Attempts that failed since one went well, by the first block of their range. */
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

  /** Attempts at the blocks that are next which failed. */
  get failures(): number {
    return this.#failed.get(this.#next) ?? 0;
  }

  /**
   * The blocks from a height on, as many as may be written at once.
   *
   * @param tip  nothing above it is fetched
   * @param asked  of ranges that are not fetched yet
   * @returns one block near the tip, else some megabytes of them, and the range that they are of
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

  /** One range more than are scanned at once, so that no scan waits for a write. */
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

  /** One range, with more attempts where the node cannot be reached. */
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
