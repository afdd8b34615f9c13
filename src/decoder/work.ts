import type { Fork, Found, Opened } from '../../machines/decoder/decoder.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import type { NodeChain, NodeTip } from '../coin/node-chain.ts';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { BlockFeed } from './block-feed.ts';
import type { BlockRows } from './block-rows.ts';
import { TIP_REFRESH_MS } from './health.ts';
import { monotonicMs } from './monotonic.ts';
import type { BlockRef, DecoderHalt, DecoderStore } from './store.ts';

/** What the work needs of the house. */
export interface DecoderWorkOptions {
  readonly network: ChainNetwork;
  /** The first block that is written; nothing below it is stored. */
  readonly startBlock: number;
  readonly pollIntervalMs: number;
  readonly chain: NodeChain;
  readonly feed: BlockFeed;
  readonly openStore: () => Promise<DecoderStore>;
  readonly log: Logger;
}

const VERIFIED = 0.99;
const FORK_PAGE = 200;

/**
 * The decoder's effects: one method for each state of its machine. One that answers null is to be called again.
 *
 * Each may throw what its node or database throws, and may then be repeated.
 */
export class DecoderWork {
  readonly #options: DecoderWorkOptions;
  #store: DecoderStore | undefined;
  #applied: BlockRef | null = null;
  #tip: (NodeTip & { readonly polledAt: number }) | undefined;
  #isTipTrusted = false;
  #halt: DecoderHalt | null = null;
  #forkHeight = -1;
  #parseErrors = 0;
  #progressAt = monotonicMs();

  constructor(options: DecoderWorkOptions) {
    this.#options = options;
  }

  /** What a report says of the work. */
  get facts() {
    return {
      lastProcessedBlock: this.#applied?.height ?? null,
      nodeHeight: this.#tip?.height ?? null,
      nodePolledAt: this.#tip?.polledAt ?? null,
      progressAt: this.#progressAt,
      parseErrors: this.#parseErrors,
      haltReason: this.#halt?.reason ?? null
    };
  }

  /** Attempts at the next blocks that failed since one went well. */
  get fetchFailures(): number {
    return this.#options.feed.failures;
  }

  /** A deeper reorg needs an operator's word. */
  get undoDepth(): number {
    return this.#options.network.undoDepth;
  }

  /** Undefined while no database is open. */
  get store(): Pick<DecoderStore, 'probe' | 'mempool'> | undefined {
    return this.#store;
  }

  async connect(): Promise<Opened> {
    await this.close();
    const store = await this.#options.openStore();
    this.#store = store;
    this.#applied = await store.readTip();
    this.#parseErrors = await store.countParseErrors();
    this.#halt = await store.readHalt();
    const { log } = this.#options;
    if (this.#halt) log.error({ halt: this.#halt }, `halted: ${this.#halt.reason}`);
    else log.info({ height: this.#applied?.height ?? null }, 'database ready');
    return { isHalted: this.#halt !== null };
  }

  async awaitNode(signal: AbortSignal): Promise<void> {
    const { chain, network, log } = this.#options;
    const tip = this.#noteTip(await chain.verify(network, signal));
    refuseUnverified(tip);
    log.info({ height: tip.height }, 'coin node ready');
  }

  /** Writes the next blocks. */
  async takeBlocks(signal: AbortSignal): Promise<Found | null> {
    const { feed, startBlock } = this.#options;
    const tip = await this.#recentTip(signal);
    const applied = this.#applied;
    if (isForked(applied, tip)) return 'fork';
    const next = applied ? applied.height + 1 : startBlock;
    if (next > tip.height) {
      this.#progressAt = monotonicMs();
      return 'tip';
    }
    const fetched = await feed.take(next, tip.height, await this.#openedStore.paidAddresses(), signal);
    const blocks = linkedBlocks(applied, fetched);
    const last = blocks.at(-1);
    if (!last) return 'fork';
    if (blocks.length < fetched.length) feed.clear(); // the node changed its branch meanwhile
    await this.#openedStore.writeBlocks(blocks);
    this.#applied = { height: last.height, hash: last.hash };
    this.#parseErrors += blocks.flatMap(({ findings }) => findings).filter(({ code }) => code === 'PARSE_ERROR').length;
    this.#progressAt = monotonicMs();
    return null;
  }

  async watchTip(signal: AbortSignal): Promise<Found | null> {
    const { chain, pollIntervalMs, startBlock } = this.#options;
    const next = this.#applied ? this.#applied.height + 1 : startBlock;
    await chain.waitForHeight(next, pollIntervalMs, signal);
    const tip = await this.#pollTip(signal);
    if (isForked(this.#applied, tip)) return 'fork';
    if (tip.height >= next) return 'blocks';
    this.#progressAt = monotonicMs();
    return null;
  }

  /** Compares stored hashes with the node's, newest first; beyond the limit only with an operator's word. */
  async locateFork(signal: AbortSignal): Promise<Fork> {
    const { chain, startBlock } = this.#options;
    const applied = this.#applied ?? { height: startBlock - 1, hash: '' };
    const tip = await this.#pollTip(signal);
    const isAllowed = await this.#openedStore.isRollbackAllowed(applied.height);
    let lowest = applied.height + 1;
    for (;;) {
      const page = await this.#openedStore.readBlocksBelow(lowest, FORK_PAGE);
      for (const { height, hash } of page) {
        const isCommon = height <= tip.height && (await chain.hashAt(height, signal)) === hash;
        if (!isCommon) lowest = height;
        if (isCommon || (!isAllowed && applied.height - lowest >= this.undoDepth)) {
          return this.#forkAt(lowest, applied.height, isAllowed);
        }
      }
      if (page.length < FORK_PAGE) return this.#forkAt(lowest, applied.height, isAllowed);
    }
  }

  async rollBack(signal: AbortSignal): Promise<void> {
    const { feed, log } = this.#options;
    feed.clear();
    while (this.#applied && this.#applied.height > this.#forkHeight && !signal.aborted) {
      log.warn({ block: this.#applied }, 'reorg: block rolled back');
      this.#applied = await this.#openedStore.rollBackTip();
    }
  }

  async refuse(): Promise<void> {
    const reason = `a reorg reaches more than ${this.undoDepth} blocks deep; confirm it with a second node, stop the decoder and run: platform-node decoder --clear-halt`;
    const halt = { reason, block_index: this.#applied?.height ?? 0 };
    await this.#openedStore.recordHalt(halt);
    this.#halt = halt;
    this.#options.log.error({ halt }, `halted: ${reason}`);
  }

  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await store?.close();
  }

  /** After a failure nothing is taken from what was known or fetched before it. */
  distrust(): void {
    this.#options.feed.clear();
    this.#isTipTrusted = false;
  }

  #forkAt(lowest: number, appliedHeight: number, isAllowed: boolean): Fork {
    this.#forkHeight = lowest - 1;
    return { depth: appliedHeight - this.#forkHeight, isAllowed };
  }

  get #openedStore(): DecoderStore {
    if (this.#store) return this.#store;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database is not open' });
  }

  async #recentTip(signal: AbortSignal): Promise<NodeTip> {
    const tip = this.#tip;
    const isAhead = tip !== undefined && tip.height > (this.#applied?.height ?? -1);
    const isRecent = tip !== undefined && monotonicMs() - tip.polledAt < TIP_REFRESH_MS;
    return this.#isTipTrusted && isAhead && isRecent ? tip : await this.#pollTip(signal);
  }

  /** A node that starts over tells low heights for a while: that is no reorg. */
  async #pollTip(signal: AbortSignal): Promise<NodeTip> {
    const tip = await this.#options.chain.tip(signal);
    if (this.#applied && tip.height < this.#applied.height) refuseUnverified(tip);
    return this.#noteTip(tip);
  }

  /** Time without progress counts only while the tip is fresh. */
  #noteTip(tip: NodeTip): NodeTip {
    const now = monotonicMs();
    if (!this.#tip || now - this.#tip.polledAt > 2 * TIP_REFRESH_MS) this.#progressAt = now;
    this.#tip = { ...tip, polledAt: now };
    this.#isTipTrusted = true;
    return tip;
  }
}

function refuseUnverified({ verificationProgress, height }: NodeTip): void {
  if (verificationProgress >= VERIFIED) return;
  const reason = `the node has verified ${(verificationProgress * 100).toFixed(1)}% of its chain`;
  throw new PlatformError('NODE_UNREACHABLE', { reason, height });
}

/** The node's chain no longer holds our newest block, as far as its tip can tell. */
function isForked(applied: BlockRef | null, tip: NodeTip): boolean {
  if (!applied) return false;
  return applied.height > tip.height || (applied.height === tip.height && applied.hash !== tip.hash);
}

/** The first of these blocks, as far as each is the child of the one before. */
function linkedBlocks(applied: BlockRef | null, blocks: readonly BlockRows[]): readonly BlockRows[] {
  const broken = blocks.findIndex((block, position) => {
    const parent = position === 0 ? applied : blocks[position - 1]!;
    return parent !== null && block.previousHash !== parent.hash;
  });
  return broken === -1 ? blocks : blocks.slice(0, broken);
}
