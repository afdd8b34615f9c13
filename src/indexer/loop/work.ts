import { setTimeout as sleep } from 'node:timers/promises';
import type { Opened } from '../../../machines/follower/follower.ts';
import type { Found, Read, Refusal } from '../../../machines/indexer/indexer.ts';
import { WriterWatch } from '../../db/writer-lock.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Alarm } from '../../wire/state/alarm.ts';
import { monotonicMs } from '../../wire/state/monotonic.ts';
import type { ChainBlock } from '../block/block.ts';
import type { PreparedBlocks } from '../store/preparer.ts';
import type { BlockRef, IndexerStore } from '../store/store.ts';
import type { Timeouts } from '../store/timeouts.ts';
import type { BlockGroup, DecoderSource } from './decoder-source.ts';
import { highestShared } from './fork.ts';
import type { PriceSource } from './price-source.ts';

/** Databases of an indexer, and its options. */
interface IndexerWorkOptions {
  readonly openSource: () => Promise<DecoderSource>;
  readonly openStore: () => Promise<IndexerStore>;
  /** Opens the index of Bitcoin whose prices count. It is absent if the ledger needs no prices of another chain. */
  readonly openPrices?: () => Promise<PriceSource>;
  /** Most blocks that a reorg may roll back. */
  readonly maxRollbackDepth: number;
  readonly pollIntervalMs: number;
  /** Called before groups of many blocks are written, and when there are no more of them. */
  readonly setPace?: (pace: Pace) => void;
  /** Called whenever there is no block to write, with the height of the newest one. */
  readonly rest?: (height: number) => Promise<void>;
  readonly log: Logger;
}

/** Kind of the blocks that are written next: many at once, or one at the tip. */
export type Pace = 'catchUp' | 'tip';

/** Blocks that are written in one transaction. */
interface Group {
  readonly blocks: readonly ChainBlock[];
  /** Result of `prepare`, if the group was begun before its turn. */
  readonly prepared?: Promise<PreparedBlocks>;
}

/** Facts of the state of an indexer. */
export interface IndexerFacts {
  readonly lastIndexedBlock: number | null;
  /** First block of the group in work. */
  readonly inFlightBlock: number | null;
  /** Number of blocks of that group. */
  readonly inFlightBlocks: number;
  readonly decoderBlock: number | null;
  readonly haltReason: string | null;
  /** Reason to wait for the decoder's blocks or for prices; null while it does not wait. */
  readonly waitReason: string | null;
  /** Reason for which sums over all rows are left out; null while none is. */
  readonly sumFault?: string | null;
}

const BLOCKS_PER_GROUP = 200;
/** Longest time without use of an idle connection, in milliseconds. */
const KEEP_ALIVE_MS = 2_000;
/** Distance from the tip, in blocks, within which each block is a transaction of its own. */
const NEAR_TIP_BLOCKS = 3;

/** Effects of an indexer's states. */
export class IndexerWork {
  readonly #options: IndexerWorkOptions;
  #source: DecoderSource | undefined;
  #store: IndexerStore | undefined;
  #tip: BlockRef | null = null;
  #decoderBlock: number | null = null;
  #group: Group | undefined;
  /** Group after that one, which is prepared while that one is being written. */
  #next: Group | undefined;
  #haltReason: string | null = null;
  #timeouts: Timeouts = { block: null, ofOneBlock: 0 };
  #waitReason: string | null = null;
  #prices: PriceSource | undefined;
  /** Bitcoin block whose prices the newest blocks that were read have. */
  #lastPriced: BlockRef | null = null;
  /** Reason for which the next block has no prices yet. */
  #priceWait: string | null = null;
  readonly #decoder = new WriterWatch('decoder');
  #keptAt = performance.now();

  constructor(options: IndexerWorkOptions) {
    this.#options = options;
  }

  get facts(): IndexerFacts {
    return {
      lastIndexedBlock: this.#tip?.height ?? null,
      inFlightBlock: this.#group?.blocks[0]?.height ?? null,
      inFlightBlocks: this.#group?.blocks.length ?? 0,
      decoderBlock: this.#decoderBlock,
      haltReason: this.#haltReason,
      waitReason: this.#waitReason ?? this.#priceWait,
      sumFault: this.#store?.sumFault ?? null
    };
  }

  /** Alarm about a decoder's database that does not go on; null while it does. */
  get upstreamAlarm(): Alarm | null {
    return this.#decoder.alarm;
  }

  /** Whether each database is open: opened, and not lost since. */
  get isOpen(): { readonly decoder: boolean; readonly indexer: boolean } {
    return { decoder: this.#source !== undefined, indexer: this.#store !== undefined };
  }

  async openStore(): Promise<void> {
    this.#store ??= await this.#options.openStore();
    [this.#tip = null] = await this.#store.readNewest(1);
    this.#timeouts = await this.#store.readTimeouts();
    await this.#alignPrices();
  }

  /**
   * Opens the decoder's database. @throws {PlatformError} DATABASE_UNUSABLE when it begins elsewhere, or its chain
   * differs from our first block on, too far below to be a reorg
   */
  async openSource(): Promise<void> {
    this.#source ??= await this.#options.openSource();
    const first = (await this.#store?.readFirst()) ?? null;
    const lowest = (await this.#source.readRange())?.lowest;
    if (first !== null && lowest !== undefined && lowest !== first.height) {
      const reason = `the decoder database begins with block ${lowest}, the index with block ${first.height}: one of them lacks the dispensers and actions in between; name a decoder database that begins where the index does, or build the index anew`;
      throw new PlatformError('DATABASE_UNUSABLE', { reason });
    }
    const depth = first === null || this.#tip === null ? 0 : this.#tip.height - first.height + 1;
    if (first === null || depth <= this.#options.maxRollbackDepth) return;
    const remoteHash = await this.#source.hashAt(first.height);
    if (remoteHash === null || remoteHash === first.hash) return;
    const reason = `block ${first.height} is ${remoteHash} in the decoder database and ${first.hash} in the index: they belong to different chains; name two databases of one chain`;
    throw new PlatformError('DATABASE_UNUSABLE', { reason });
  }

  async readHalt(): Promise<Opened> {
    const halt = await this.#store!.halts.read();
    this.#haltReason = halt?.reason ?? null;
    return { isHalted: halt !== null };
  }

  /** Closes a database after a failure; it is opened anew. */
  drop(database: 'decoder' | 'indexer'): void {
    this.#group = undefined;
    if (database === 'decoder') {
      this.#source?.close();
      this.#source = undefined;
    } else {
      this.#next = undefined;
      this.#store?.close();
      this.#store = undefined;
    }
  }

  /** Compares the newest block with the decoder's chain. */
  async inspect(): Promise<Found> {
    const look = await this.#source!.lookAtWriter();
    const range = await this.#source!.readRange();
    this.#decoderBlock = range?.highest ?? null;
    this.#decoder.note(look, this.#decoderBlock, monotonicMs());
    const tip = this.#tip;
    if (range === null) return tip === null ? 'tip' : this.#isBehind(tip);
    this.#waitReason = null;
    if (tip === null) return 'blocks';
    if (tip.hash === (await this.#source!.hashAt(tip.height))) {
      if (range.highest > tip.height) return 'blocks';
      this.#setPriceWait(null);
      return 'tip';
    }
    return await this.#locateFork(tip, range);
  }

  async #locateFork(
    tip: BlockRef,
    { lowest, highest }: { readonly lowest: number; readonly highest: number }
  ): Promise<Found> {
    const [source, store] = [this.#source!, this.#store!];
    const shared = await highestShared(
      (height) => store.hashAt(height),
      (height) => source.hashAt(height),
      { lowest, highest: Math.min(highest, tip.height) }
    );
    if (shared === highest) return this.#isBehind(tip);
    const isAllowed = await store.halts.isRollbackAllowed(tip.height);
    return { height: shared + 1, depth: tip.height - shared, isAllowed };
  }

  /** Waits for a decoder that starts over, or whose node does. It has the same chain, not another one. */
  #isBehind({ height }: BlockRef): 'behind' {
    this.#waitReason = `the decoder is at block ${this.#decoderBlock ?? 'none'}, in the same chain as the index, but below its newest block, ${height}; wait, or check the decoder's node`;
    return 'behind';
  }

  /** Number of times that the limit of the next block is doubled, because attempts at it alone were too slow. */
  get doublings(): number {
    return this.#isLate() ? this.#timeouts.ofOneBlock : 0;
  }

  /** Returns whether the watchdog ended an attempt at the next block. The block is then written alone. */
  #isLate(): boolean {
    const { block } = this.#timeouts;
    return block !== null && (this.#tip === null || block === this.#tip.height + 1);
  }

  /**
   * Reads the next group of blocks. If the ledger needs prices of another chain, they are those whose prices are there.
   */
  async read(): Promise<Read> {
    if (this.#next && !(await this.#isOnChain(this.#next))) await this.#discardNext();
    this.#group = this.#next ?? (await this.#readBehind(this.#tip));
    this.#next = undefined;
    if (this.#group?.blocks.length === 0) {
      this.#group = undefined;
      return 'unpriced';
    }
    return this.#group ? 'blocks' : 'fork';
  }

  /**
   * Reads the blocks after one, or the first ones, up to the first without its prices. It is undefined where the
   * decoder has none.
   */
  async #readBehind(tip: BlockRef | null): Promise<Group | undefined> {
    const range = await this.#source!.readRange();
    if (range === null) return undefined;
    const from = tip === null ? range.lowest : tip.height + 1;
    const limit = range.highest - from < NEAR_TIP_BLOCKS || this.#isLate() ? 1 : BLOCKS_PER_GROUP;
    const read = await this.#source!.readBlocks(from, limit);
    if (read === null || (tip !== null && read.previousHash !== tip.hash)) return undefined;
    return { blocks: await this.#priced(read) };
  }

  /**
   * Adds prices to blocks. @throws {PlatformError} PRICES_REPLACED; the faults of an index of Bitcoin that no retry
   * mends
   */
  async #priced({ blocks, times }: BlockGroup): Promise<readonly ChainBlock[]> {
    const { openPrices } = this.#options;
    if (!openPrices) return blocks;
    try {
      this.#prices ??= await openPrices();
      const priced = await this.#prices.price(blocks, times, this.#lastPriced);
      this.#setPriceWait(priced.blocks.length === 0 ? priced.waitReason : null);
      this.#lastPriced = priced.blocks.at(-1)?.prices?.at ?? this.#lastPriced;
      return priced.blocks;
    } catch (caught) {
      this.#dropPrices();
      if (!hasCode(caught, 'DATABASE_UNAVAILABLE')) throw caught;
      this.#setPriceWait(`the index of Bitcoin with the prices cannot be read: ${(caught as Error).message}`);
      return [];
    }
  }

  #setPriceWait(reason: string | null): void {
    if (reason !== null && this.#priceWait === null)
      this.#options.log.warn({ reason }, `waiting for prices: ${reason}`);
    if (reason === null && this.#priceWait !== null) this.#options.log.info('the prices have arrived');
    this.#priceWait = reason;
  }

  #dropPrices(): void {
    this.#prices?.close();
    this.#prices = undefined;
  }

  /** Reads again which prices the newest written block has: a group that was read ahead may not be written. */
  async #alignPrices(): Promise<void> {
    if (this.#options.openPrices) this.#lastPriced = await this.#store!.readPriceBlock();
  }

  /**
   * Executes the group and writes it. @throws {PlatformError} LEDGER_INSANE when the sums then disagree; nothing is
   * written
   */
  async write(): Promise<void> {
    const group = this.#group!;
    this.#options.setPace?.(group.blocks.length > 1 ? 'catchUp' : 'tip');
    const store = this.#store!;
    const { prepared } = group.prepared ? group : this.#begin(group.blocks, store);
    const blocks = (await prepared)?.executed.map(({ block }) => block) ?? group.blocks;
    if (blocks.length < group.blocks.length) this.#group = { ...group, blocks };
    const last = blocks.at(-1)!;
    const writing = store.addBlocks(blocks, this.#decoderBlock ?? last.height, prepared);
    const { sumFault } = store;
    await Promise.all([writing, prepared && this.#beginBehind(last, store)]);
    if (store.sumFault !== sumFault) this.#options.log.warn({ reason: store.sumFault }, 'sums over all rows left out');
    this.#tip = { height: last.height, hash: last.hash };
    this.#group = undefined;
    this.#options.log.debug({ first: blocks[0]!.height, last: last.height }, 'blocks written');
  }

  /** Begins to execute a group of a catch-up. A single block is executed when it is written. */
  #begin(blocks: readonly ChainBlock[], store: IndexerStore): Group {
    if (blocks.length === 1) return { blocks };
    const prepared = store.prepare(blocks);
    prepared.catch(() => undefined); // it may never be awaited
    return { blocks, prepared };
  }

  /** Begins the group after a block. A failure of it appears when the group is read or written. */
  async #beginBehind(last: BlockRef, store: IndexerStore): Promise<void> {
    const next = await this.#readBehind(last).catch(() => undefined); // the connection is closed: the next look at it fails
    if (!next || next.blocks.length === 0 || this.#store !== store) return;
    const begun = this.#begin(next.blocks, store);
    if (begun.prepared && this.#store === store) this.#next = begun;
  }

  /**
   * Rolls blocks back. @param height first block to roll back @throws {PlatformError} LEDGER_INSANE when the sums then
   * disagree
   */
  async rollBack(height: number): Promise<void> {
    await this.#discardNext();
    await this.#store!.rollBack(height);
    this.#options.log.info({ from: this.#tip?.height, to: height - 1 }, 'blocks rolled back');
    [this.#tip = null] = await this.#store!.readNewest(1);
    await this.#alignPrices();
  }

  /** Returns whether the decoder's chain still has the blocks that were read ahead. */
  async #isOnChain({ blocks }: Group): Promise<boolean> {
    const { height, hash } = blocks.at(-1)!;
    return hash === (await this.#source!.hashAt(height));
  }

  /** Discards a group that was prepared on a chain that the decoder has left. */
  async #discardNext(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    if (!next) return;
    await next.prepared?.catch(() => undefined); // the store must be done with it
    try {
      await this.#store!.discard();
      await this.#alignPrices();
    } catch (caught) {
      this.drop('indexer');
      throw caught;
    }
  }

  /** Makes a halt durable. */
  async refuse(refusal: Refusal): Promise<void> {
    await this.openStore(); // the one that refused is closed
    await this.#store!.halts.write({ ...refusal, block_index: this.#tip?.height ?? null });
    this.#haltReason = refusal.reason;
    this.#options.log.error({ code: refusal.code }, `halted: ${refusal.reason}`);
  }

  /** Rests at the tip until the next look at the decoder. @throws when the signal is aborted */
  async wait(signal: AbortSignal): Promise<void> {
    this.#options.setPace?.('tip');
    if (this.#tip) await this.#options.rest?.(this.#tip.height);
    await sleep(this.#options.pollIntervalMs, undefined, { signal });
  }

  /** Tells readers of the ledger whether it goes on. A failure is ignored: the next statement fails too. */
  async tellReaders(isWaiting: boolean): Promise<void> {
    await this.#store?.tellWaiting(isWaiting).catch(() => undefined);
  }

  /** Uses idle connections from time to time, so that a lost one is opened again before the next block comes. */
  async keepAlive(): Promise<void> {
    if (performance.now() - this.#keptAt < KEEP_ALIVE_MS) return;
    this.#keptAt = performance.now();
    await this.#store?.keepAlive();
  }

  close(): void {
    this.#dropPrices();
    this.drop('decoder');
    this.drop('indexer');
  }
}
