import { setTimeout as sleep } from 'node:timers/promises';
import type { IndexerEvent, Refusal } from '../../../machines/indexer/indexer.ts';
import { hasCode } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { ChainBlock } from '../block/block.ts';
import type { BlockRef, IndexerStore } from '../store/store.ts';
import type { DecoderSource } from './decoder-source.ts';
import { highestShared } from './fork.ts';

/** What an indexer reads and writes, and how it opens both. */
export interface IndexerWorkOptions {
  readonly openSource: () => Promise<DecoderSource>;
  readonly openStore: () => Promise<IndexerStore>;
  /** Blocks that a reorg may take back. */
  readonly maxRollbackDepth: number;
  readonly pollIntervalMs: number;
  readonly log: Logger;
}

/** Where an indexer stands. */
export interface IndexerFacts {
  readonly lastIndexedBlock: number | null;
  /** The first block of the group in work. */
  readonly inFlightBlock: number | null;
  readonly decoderBlock: number | null;
  readonly haltReason: string | null;
}

const BLOCKS_PER_GROUP = 200;
/** So near to the tip each block is a transaction of its own. */
const NEAR_TIP_BLOCKS = 3;

/** The effects of an indexer's states, each of which ends in the event that tells what came of it. */
export class IndexerWork {
  readonly #options: IndexerWorkOptions;
  #source: DecoderSource | undefined;
  #store: IndexerStore | undefined;
  #tip: BlockRef | null = null;
  #decoderBlock: number | null = null;
  #group: readonly ChainBlock[] = [];
  #haltReason: string | null = null;

  constructor(options: IndexerWorkOptions) {
    this.#options = options;
  }

  get facts(): IndexerFacts {
    return {
      lastIndexedBlock: this.#tip?.height ?? null,
      inFlightBlock: this.#group[0]?.height ?? null,
      decoderBlock: this.#decoderBlock,
      haltReason: this.#haltReason
    };
  }

  /** Whether each database is open: none was lost since it was opened. */
  get isOpen(): { readonly decoder: boolean; readonly indexer: boolean } {
    return { decoder: this.#source !== undefined, indexer: this.#store !== undefined };
  }

  async openStore(): Promise<void> {
    this.#store ??= await this.#options.openStore();
    [this.#tip = null] = await this.#store.readNewest(1);
  }

  async openSource(): Promise<void> {
    this.#source ??= await this.#options.openSource();
  }

  /** Ends `connecting`. */
  async readHalt(): Promise<IndexerEvent> {
    const halt = await this.#store!.readHalt();
    this.#haltReason = halt?.reason ?? null;
    return { type: 'databases.opened', isHalted: halt !== null };
  }

  /** Lets go of a database after a failure; it is opened anew. */
  drop(database: 'decoder' | 'indexer'): void {
    this.#group = [];
    if (database === 'decoder') {
      this.#source?.close();
      this.#source = undefined;
    } else {
      this.#store?.close();
      this.#store = undefined;
    }
  }

  /** Compares our newest block with the decoder's chain. */
  async inspect(): Promise<IndexerEvent> {
    const range = await this.#source!.readRange();
    this.#decoderBlock = range?.highest ?? null;
    if (range === null) return { type: 'tip.reached' };
    const tip = this.#tip;
    if (tip === null) return { type: 'blocks.found' };
    if (tip.hash === (await this.#source!.hashAt(tip.height)))
      return { type: range.highest > tip.height ? 'blocks.found' : 'tip.reached' };
    return await this.#locateFork(tip, range);
  }

  async #locateFork(
    tip: BlockRef,
    { lowest, highest }: { readonly lowest: number; readonly highest: number }
  ): Promise<IndexerEvent> {
    const [source, store] = [this.#source!, this.#store!];
    const shared = await highestShared(
      (height) => store.hashAt(height),
      (height) => source.hashAt(height),
      { lowest, highest: Math.min(highest, tip.height) }
    );
    const depth = tip.height - shared;
    // A decoder that starts over is behind us for a while; its chain need not be another.
    if (shared === highest && depth > this.#options.maxRollbackDepth) return { type: 'tip.reached' };
    const isAllowed = await store.isRollbackAllowed();
    return { type: 'fork.located', height: shared + 1, depth, isAllowed };
  }

  /** Reads the next group of blocks. */
  async read(): Promise<IndexerEvent> {
    const tip = this.#tip;
    const range = await this.#source!.readRange();
    if (range === null) return { type: 'fork.detected' };
    const from = tip === null ? range.lowest : tip.height + 1;
    const limit = range.highest - from < NEAR_TIP_BLOCKS ? 1 : BLOCKS_PER_GROUP;
    const read = await this.#source!.readBlocks(from, limit);
    if (read === null || (tip !== null && read.previousHash !== tip.hash)) return { type: 'fork.detected' };
    this.#group = read.blocks;
    return { type: 'blocks.read' };
  }

  /** Carries the group out and writes it. */
  async write(): Promise<IndexerEvent> {
    const group = this.#group;
    const last = group.at(-1);
    if (!last) return { type: 'blocks.written' };
    try {
      await this.#store!.addBlocks(group);
    } catch (caught) {
      if (hasCode(caught, 'LEDGER_INSANE')) return this.#refused(caught.code, caught.message);
      throw caught;
    }
    this.#tip = { height: last.height, hash: last.hash };
    this.#group = [];
    this.#options.log.debug({ first: group[0]!.height, last: last.height }, 'blocks written');
    return { type: 'blocks.written' };
  }

  async rollBack(height: number): Promise<IndexerEvent> {
    try {
      await this.#store!.rollBack(height);
    } catch (caught) {
      if (hasCode(caught, 'LEDGER_INSANE')) return this.#refused(caught.code, caught.message);
      throw caught;
    }
    this.#options.log.info({ from: this.#tip?.height, to: height - 1 }, 'blocks rolled back');
    [this.#tip = null] = await this.#store!.readNewest(1);
    return { type: 'rollback.finished' };
  }

  /** Makes a halt durable. */
  async refuse(refusal: Refusal): Promise<IndexerEvent> {
    await this.openStore(); // the one that refused is closed
    await this.#store!.recordHalt(refusal);
    this.#haltReason = refusal.reason;
    this.#options.log.error({ code: refusal.code }, `halted: ${refusal.reason}`);
    return { type: 'halt.recorded' };
  }

  async wait(signal: AbortSignal): Promise<IndexerEvent> {
    await sleep(this.#options.pollIntervalMs, undefined, { signal }).catch(() => undefined); // aborted: it stops
    return signal.aborted ? { type: 'stop.requested' } : { type: 'poll.elapsed' };
  }

  close(): IndexerEvent {
    this.drop('decoder');
    this.drop('indexer');
    return { type: 'databases.closed' };
  }

  #refused(code: string, reason: string): IndexerEvent {
    this.drop('indexer');
    return { type: 'ledger.refused', refusal: { code, reason } };
  }
}
