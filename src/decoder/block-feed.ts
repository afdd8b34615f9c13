import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressVersions } from '../coin/chains.ts';
import { hasCode, PlatformError } from '../errors.ts';
import type { BlockRows } from './block-rows.ts';
import { PaymentMarks } from './payment-marks.ts';

/** Blocks in a row. */
export interface BlockRange {
  readonly from: number;
  readonly count: number;
  /** They are so small that asking for each costs more than their bytes. */
  readonly isSmall: boolean;
  /** Marks of scripts whose payments are looked for. */
  readonly wanted: Uint32Array;
}

/** A block, and what its outputs pay to. */
export interface MarkedBlock extends BlockRows {
  /** Of the outputs' scripts. */
  readonly marks: Uint32Array;
}

export interface ScannedRange {
  /** From the range's first on; fewer than asked for where they turned out to be large. */
  readonly blocks: readonly MarkedBlock[];
  /** What the node sent for them. */
  readonly sizeBytes: number;
}

/** One attempt at a range. @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED */
export type ScanRange = (range: BlockRange, signal: AbortSignal) => Promise<ScannedRange>;

export interface BlockFeedOptions {
  readonly scan: ScanRange;
  /** Addresses of the chain. */
  readonly versions: AddressVersions;
  /** Ranges that are scanned at the same time, at most. */
  readonly parallelism: number;
  /** Attempts after the first, default 10. */
  readonly retries?: number;
  /** Pause before another attempt, default 500 ms. */
  readonly retryDelayMs?: number;
  /** Pause where the node says that it is asked too much, default 5 s. */
  readonly rateLimitDelayMs?: number;
}

const RANGE_BYTES = 8 * 2 ** 20;
const MAX_RANGE = 500;
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

/** The next blocks of a chain as rows, fetched and scanned ahead within a bound. */
export class BlockFeed {
  readonly #options: Required<BlockFeedOptions>;
  readonly #marks: PaymentMarks;
  #ahead: { readonly range: BlockRange; readonly scanned: Promise<ScannedRange> }[] = [];
  #blockBytes: number | null = null;
  #parallelism: number;
  #wellDone = 0;
  #errorCount = 0;
  /** Attempts that failed since one went well, by the first block of their range. */
  readonly #failed = new Map<number, number>();
  #next = 0;

  constructor(options: BlockFeedOptions) {
    this.#options = { retries: 10, retryDelayMs: 500, rateLimitDelayMs: 5_000, ...options };
    this.#marks = new PaymentMarks(options.versions);
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
   * @param paid  addresses of the dispensers below the height: payments to them, and to those that these blocks open, are found
   * @returns one block near the tip, else some megabytes of them
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED; asking again fetches again
   */
  async take(height: number, tip: number, paid: readonly string[], signal: AbortSignal): Promise<readonly BlockRows[]> {
    this.#next = height;
    for (const from of this.#failed.keys()) if (from < height) this.#failed.delete(from);
    if (this.#ahead[0]?.range.from !== height) this.#ahead = [];
    this.#fill(height, tip, Uint32Array.from(this.#marks.of(paid)), signal);
    const { range, scanned } = this.#ahead.shift()!;
    const { blocks } = await scanned;
    const wanted = this.#marks.of([...paid, ...openedIn(blocks)]);
    const missed = wanted.difference(new Set(range.wanted));
    const first = missed.size === 0 ? -1 : blocks.findIndex(({ marks }) => marks.some((mark) => missed.has(mark)));
    if (first === -1) return blocks;
    const rest = { ...range, from: height + first, count: blocks.length - first, wanted: Uint32Array.from(wanted) };
    const again = await this.#scan(rest, signal);
    return [...blocks.slice(0, first), ...sameBlocks(again.blocks, blocks.slice(first))];
  }

  /** Forgets what was fetched: it belongs to a branch that was left, or to a node that failed. */
  clear(): void {
    this.#ahead = [];
    this.#blockBytes = null;
  }

  /** One range more than are scanned at once, so that none waits for what is being written. */
  #fill(height: number, tip: number, wanted: Uint32Array, signal: AbortSignal): void {
    const last = this.#ahead.at(-1)?.range;
    let from = last ? last.from + last.count : height;
    while (from <= tip && this.#ahead.length <= this.#parallelism) {
      const range = { ...this.#rangeAt(from, tip), wanted };
      const scanned = this.#scan(range, signal);
      scanned.catch(() => undefined); // told to whoever takes it
      this.#ahead.push({ range, scanned });
      from += range.count;
    }
  }

  #rangeAt(from: number, tip: number): Omit<BlockRange, 'wanted'> {
    const isSmall = this.#blockBytes !== null && this.#blockBytes < SMALL_BLOCK_BYTES;
    if (from > tip - TIP_BLOCKS) return { from, count: 1, isSmall };
    const fitting = this.#blockBytes === null ? FIRST_RANGE : Math.floor(RANGE_BYTES / this.#blockBytes);
    return { from, count: Math.max(1, Math.min(fitting, MAX_RANGE, tip - TIP_BLOCKS + 1 - from)), isSmall };
  }

  async #scan(range: BlockRange, signal: AbortSignal): Promise<ScannedRange> {
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

  #noteSuccess({ from }: BlockRange, { blocks, sizeBytes }: ScannedRange): void {
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

/** Addresses at which these blocks open dispensers. */
function openedIn(blocks: readonly BlockRows[]): readonly string[] {
  return blocks.flatMap(({ transactions }) =>
    transactions.flatMap(({ source, dispensers: { opened } }) => (opened ? [opened.address ?? source] : []))
  );
}

/** These blocks as far as they are those, for the node may have changed its branch meanwhile. */
function sameBlocks(blocks: readonly BlockRows[], those: readonly BlockRows[]): readonly BlockRows[] {
  const other = blocks.findIndex(({ hash }, position) => hash !== those[position]!.hash);
  return other === -1 ? blocks : blocks.slice(0, other);
}
