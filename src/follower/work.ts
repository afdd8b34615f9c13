import { setTimeout as sleep } from 'node:timers/promises';
import type { Fork, Found } from '../../machines/follower/chain-writer.ts';
import type { Opened } from '../../machines/follower/follower.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import type { NodeChain, NodeNeeds, NodeTip } from '../coin/node/node-chain.ts';
import type { ExclusiveDatabase } from '../db/exclusive-database.ts';
import type { WriterHalt } from '../db/halts.ts';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { type Alarm, alarmOf } from '../wire/state/alarm.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import { TIP_STALE_MS } from './report.ts';

/** Height and hash of a block. */
export interface BlockRef {
  readonly height: number;
  readonly hash: string;
}

/** Block that is to be written, with its parent. */
export interface LinkedBlock extends BlockRef {
  /** Hash of the parent; empty for the first block of a chain. */
  readonly previousHash: string;
}

/** Store of the blocks of one chain. Every method may throw DATABASE_UNAVAILABLE; then close the database. */
export interface BlockStore<Block> {
  /** Database that holds the blocks and the current halt. */
  readonly database: ExclusiveDatabase;
  /** Reads the newest block; null when there is none. */
  readTip(): Promise<BlockRef | null>;
  /** Reads the newest blocks below a height, highest first. */
  readBlocksBelow(height: number, limit: number): Promise<readonly BlockRef[]>;
  /**
   * Writes consecutive blocks with everything that belongs to them, all or nothing. They are durable when this returns.
   */
  writeBlocks(blocks: readonly Block[]): Promise<void>;
  /** Deletes the newest block with everything that it brought. @returns the new tip */
  rollBackTip(): Promise<BlockRef | null>;
  /**
   * Height up to which blocks are gathered first; `loadNext` then stores what they bring. If it is null or missing,
   * each block is written at once.
   */
  readonly gathersTo?: number | null;
  /** Stores a part of the gathered blocks. @returns whether it was the last part */
  loadNext?(): Promise<boolean>;
}

/** Feed of blocks, which fetches ahead. */
interface ChainFeed {
  /** Failed attempts at the next blocks. */
  readonly failures: number;
  /** Drops fetched blocks. */
  clear(): void;
}

/** Dependencies and options of the work. */
interface ChainWorkOptions<Block extends LinkedBlock, Store extends BlockStore<Block>> {
  /** Command that an operator runs. */
  readonly command: 'decoder' | 'utxo';
  readonly network: ChainNetwork;
  /** First block that is written; no block below it is stored. */
  readonly startBlock: number;
  readonly pollIntervalMs: number;
  readonly chain: NodeChain;
  /** Whether the work requests transactions by their ids; default: it does. */
  readonly needsIndex?: boolean;
  readonly feed: ChainFeed;
  /** Returns the blocks from a height on, as many as may be written at once. */
  readonly take: (store: Store, from: number, tip: number, signal: AbortSignal) => Promise<readonly Block[]>;
  readonly openStore: () => Promise<Store>;
  /** Called before stored blocks change, and again after they have changed. */
  readonly onChange?: () => void;
  readonly log: Logger;
}

const VERIFIED = 0.99;
const FORK_PAGE = 200;
/** Pause between two looks at what would end a halt, in milliseconds. */
const HALT_WATCH_MS = 5_000;
/** Pause between two looks at the node beside the other requests, in milliseconds. */
const LOOK_EVERY_MS = 2_000;
/** Age up to which a tip says how far blocks may be taken, in milliseconds. */
const TRUSTED_TIP_MS = 30_000;

/**
 * Effects of a service that writes a chain, one method for each state of its machine. A result of null means: call it
 * again.
 *
 * Each may throw the errors of its node or database, and may then be repeated.
 */
export class ChainWork<Block extends LinkedBlock, Store extends BlockStore<Block>> {
  readonly #options: ChainWorkOptions<Block, Store>;
  #store: Store | undefined;
  #applied: BlockRef | null = null;
  #tip: (NodeTip & { readonly polledAt: number }) | undefined;
  #isTipTrusted = false;
  #halt: WriterHalt | null = null;
  #alarm: Alarm | null = null;
  #nodeFault: Alarm | null = null;
  #download: Alarm | null = null;
  #isLooking = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #forkHeight = -1;
  #progressAt = monotonicMs();
  #reorgs = 0;
  #lastReorgDepth = 0;

  constructor(options: ChainWorkOptions<Block, Store>) {
    this.#options = options;
  }

  /** Facts of the work for a report. */
  get facts() {
    return {
      lastProcessedBlock: this.#applied?.height ?? null,
      lastProcessedHash: this.#applied?.hash ?? null,
      nodeHeight: this.#tip?.height ?? null,
      nodePolledAt: this.#tip?.polledAt ?? null,
      progressAt: this.#progressAt,
      haltReason: this.#halt?.reason ?? null
    };
  }

  /** Alarm about a node that the work waits for; null if it does not wait. */
  get alarm(): Alarm | null {
    return this.#alarm ?? this.#nodeFault ?? this.#download;
  }

  /** Number of reorgs since the start, and depth of the last one. */
  get reorgs() {
    return { reorgs: this.#reorgs, lastReorgDepth: this.#lastReorgDepth };
  }

  /** Attempts at the next blocks that failed since the last success. */
  get fetchFailures(): number {
    return this.#options.feed.failures;
  }

  /** Deepest reorg that needs no operator, in blocks. */
  get undoDepth(): number {
    return this.#options.network.undoDepth;
  }

  /** Store; undefined while no database is open. */
  get store(): Store | undefined {
    return this.#store;
  }

  async connect(): Promise<Opened> {
    await this.close();
    const store = await this.#options.openStore();
    this.#store = store;
    this.#applied = await store.readTip();
    this.#halt = await store.database.halts.read();
    const { log } = this.#options;
    if (this.#halt) log.error({ halt: this.#halt }, `halted: ${this.#halt.reason}`);
    else log.info({ height: this.#applied?.height ?? null }, 'database ready');
    return { isHalted: this.#halt !== null };
  }

  async awaitNode(signal: AbortSignal): Promise<void> {
    const { chain, network, log } = this.#options;
    const tip = this.#noteTip(await chain.verify(network, this.#needs, signal));
    refuseUnverified(tip);
    log.info({ height: tip.height }, 'coin node ready');
  }

  /** Writes the next blocks. */
  async takeBlocks(signal: AbortSignal): Promise<Found | null> {
    const { feed, take, startBlock } = this.#options;
    const tip = await this.#recentTip(signal);
    const applied = this.#applied;
    const relation = await this.#compareTip(tip);
    if (relation !== 'same') return relation;
    const next = applied ? applied.height + 1 : startBlock;
    if (next > (this.#openedStore.gathersTo ?? Number.POSITIVE_INFINITY)) return 'gathered';
    if (next > tip.height) {
      this.#progressAt = monotonicMs();
      return 'tip';
    }
    const fetched = await take(this.#openedStore, next, tip.height, signal);
    const blocks = linkedBlocks(applied, fetched);
    const last = blocks.at(-1);
    if (!last) return 'fork';
    if (blocks.length < fetched.length) feed.clear(); // the node changed its branch meanwhile
    await this.#changing(() => this.#openedStore.writeBlocks(blocks));
    this.#applied = { height: last.height, hash: last.hash };
    this.#progressAt = monotonicMs();
    return null;
  }

  /** Stores a part of the gathered blocks. */
  async load(): Promise<true | null> {
    const isDone = (await this.#openedStore.loadNext?.()) ?? true;
    this.#progressAt = monotonicMs();
    return isDone || null;
  }

  async watchTip(signal: AbortSignal): Promise<Found | null> {
    const { chain, pollIntervalMs, startBlock } = this.#options;
    const next = this.#applied ? this.#applied.height + 1 : startBlock;
    await this.#openedStore.database.keepAlive();
    await chain.waitForHeight(next, pollIntervalMs, signal);
    const tip = await this.#pollTip(signal);
    const relation = await this.#compareTip(tip);
    if (relation !== 'same') return relation;
    if (tip.height >= next) return 'blocks';
    this.#progressAt = monotonicMs();
    return null;
  }

  /** Waits for a node that lacks blocks which it had. */
  async awaitBlocks(signal: AbortSignal): Promise<Found | null> {
    const { chain, pollIntervalMs } = this.#options;
    await chain.waitForHeight(this.#applied?.height ?? 0, pollIntervalMs, signal);
    const relation = await this.#compareTip(await this.#pollTip(signal));
    if (relation === 'behind') return null;
    this.#progressAt = monotonicMs();
    return relation === 'fork' ? 'fork' : 'blocks';
  }

  /** Compares stored hashes with the node's, newest first. Beyond the limit it needs an operator's permission. */
  async locateFork(signal: AbortSignal): Promise<Fork> {
    const { chain, network, startBlock } = this.#options;
    const applied = this.#applied ?? { height: startBlock - 1, hash: '' };
    const tip = this.#noteTip(await chain.verify(network, this.#needs, signal)); // before anything is rolled back
    if ((await this.#compareTip(tip)) === 'behind') return { depth: 0, isAllowed: false };
    const isAllowed = await this.#openedStore.database.halts.isRollbackAllowed(applied.height);
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
    const before = this.#applied?.height ?? -1;
    while (this.#applied && this.#applied.height > this.#forkHeight && !signal.aborted) {
      log.warn({ block: this.#applied }, 'reorg: block rolled back');
      this.#applied = await this.#changing(() => this.#openedStore.rollBackTip());
    }
    this.#reorgs += 1;
    this.#lastReorgDepth = before - (this.#applied?.height ?? -1);
  }

  async refuse(): Promise<void> {
    const reason = `a reorg is more than ${this.undoDepth} blocks deep; confirm it with a second node, stop this service and run: platform-node ${this.#options.command} --clear-halt`;
    const halt = { code: 'ROLLBACK_TOO_DEEP', reason, block_index: this.#applied?.height ?? 0 };
    await this.#openedStore.database.halts.write(halt);
    this.#halt = halt;
    this.#options.log.error({ halt }, `halted: ${reason}`);
  }

  /** Ends a halt whose cause is gone: the node has our newest block again. */
  async watchHalt(signal: AbortSignal): Promise<true | null> {
    const { chain, network, log } = this.#options;
    await sleep(HALT_WATCH_MS, undefined, { signal });
    const applied = this.#applied;
    const tip = this.#noteTip(await chain.verify(network, this.#needs, signal));
    if (!applied || tip.height < applied.height) return null;
    if ((await chain.hashAt(applied.height, signal)) !== applied.hash) return null;
    await this.#openedStore.database.halts.end();
    log.warn({ halt: this.#halt }, 'the node has the newest stored block again: the halt is over');
    this.#halt = null;
    return true;
  }

  /**
   * Looks at the node every 2 s beside the effect under way, which may wait for a block for minutes. It checks the tip,
   * that the tip still belongs to the network, and that the node has what is needed, and peers.
   */
  watchNode(signal: AbortSignal): void {
    const { chain, network } = this.#options;
    const now = monotonicMs();
    if (this.#isLooking || now - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#isLooking = true;
    this.#lookedAt = now;
    chain
      .verify(network, { ...this.#needs, hasPeers: true }, signal)
      .then((tip) => {
        this.#nodeFault = null;
        this.#noteTip(tip);
      })
      .catch((caught: unknown) => {
        this.#nodeFault = alarmOf(PlatformError.from(caught), this.#nodeFault, monotonicMs());
      })
      .finally(() => {
        this.#isLooking = false;
      });
  }

  /** Needs of the work: the node must have the next block, or the first one while none is written. */
  get #needs(): NodeNeeds {
    const { needsIndex = true, startBlock } = this.#options;
    return { hasIndex: needsIndex, blocksFrom: this.#applied ? this.#applied.height + 1 : startBlock };
  }

  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await store?.database.close();
  }

  /** Drops fetched blocks after a failure, and requests the node's tip again. */
  distrust(): void {
    this.#options.feed.clear();
    this.#isTipTrusted = false;
  }

  async #changing<T>(change: () => Promise<T>): Promise<T> {
    const { onChange = () => undefined } = this.#options;
    onChange();
    try {
      return await change();
    } finally {
      onChange();
    }
  }

  #forkAt(lowest: number, appliedHeight: number, isAllowed: boolean): Fork {
    this.#forkHeight = lowest - 1;
    return { depth: appliedHeight - this.#forkHeight, isAllowed };
  }

  get #openedStore(): Store {
    if (this.#store) return this.#store;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database is not open' });
  }

  /** Compares our newest block with the node's chain, as far as its tip shows. Only a different block is a fork. */
  async #compareTip(tip: NodeTip): Promise<'same' | 'fork' | 'behind'> {
    const applied = this.#applied;
    if (!applied || tip.height > applied.height) return this.#leaveAlarm('same');
    if (tip.height === applied.height) return this.#leaveAlarm(applied.hash === tip.hash ? 'same' : 'fork');
    const [own] = await this.#openedStore.readBlocksBelow(tip.height + 1, 1);
    if (own?.height === tip.height && own.hash !== tip.hash) {
      // The first blocks of another network are no fork, and waiting for the rest of them would not help.
      await this.#options.chain.verifyNetwork(this.#options.network);
      refuseUnverified(tip);
      return this.#leaveAlarm('fork');
    }
    if (!this.#alarm) this.#options.log.warn({ tip, applied }, 'the node is behind: waiting for its blocks');
    const lacking = applied.height - tip.height;
    const reason = `the node is at block ${tip.height}, in the same chain as the database, and lacks ${lacking} blocks up to its newest, ${applied.height}`;
    this.#alarm = alarmOf(new PlatformError('NODE_BEHIND', { reason }), this.#alarm, monotonicMs());
    return 'behind';
  }

  #leaveAlarm<Relation>(relation: Relation): Relation {
    if (this.#alarm) this.#options.log.info('the node is no longer behind');
    this.#alarm = null;
    return relation;
  }

  async #recentTip(signal: AbortSignal): Promise<NodeTip> {
    const tip = this.#tip;
    const isAhead = tip !== undefined && tip.height > (this.#applied?.height ?? -1);
    const isRecent = tip !== undefined && monotonicMs() - tip.polledAt < TRUSTED_TIP_MS;
    return this.#isTipTrusted && isAhead && isRecent ? tip : await this.#pollTip(signal);
  }

  async #pollTip(signal: AbortSignal): Promise<NodeTip> {
    return this.#noteTip(await this.#options.chain.tip(signal));
  }

  /** Notes the node's tip. Time without progress counts only while the tip is fresh. */
  #noteTip(tip: NodeTip): NodeTip {
    const now = monotonicMs();
    if (!this.#tip || now - this.#tip.polledAt > TIP_STALE_MS) this.#progressAt = now;
    this.#tip = { ...tip, polledAt: now };
    this.#download = downloadAlarm(this.#tip, this.undoDepth, this.#download);
    this.#isTipTrusted = true;
    return tip;
  }
}

function refuseUnverified({ verificationProgress, height }: NodeTip): void {
  if (verificationProgress >= VERIFIED) return;
  const reason = `the node has verified ${(verificationProgress * 100).toFixed(1)}% of its chain`;
  throw new PlatformError('NODE_UNREACHABLE', { reason, height });
}

/**
 * Returns the alarm about a node whose headers show that it lacks more blocks than a rollback may remove; null for any
 * other node.
 */
function downloadAlarm(
  tip: NodeTip & { readonly polledAt: number },
  tolerated: number,
  before: Alarm | null
): Alarm | null {
  if (tip.headers - tip.height <= tolerated) return null;
  const reason = `the node has ${tip.height} blocks but headers up to ${tip.headers}: it is still downloading its chain`;
  return alarmOf(new PlatformError('NODE_BEHIND', { reason }), before, tip.polledAt);
}

/** Returns the first of these blocks, up to one that is not the child of the block before. */
function linkedBlocks<Block extends LinkedBlock>(applied: BlockRef | null, blocks: readonly Block[]): readonly Block[] {
  const broken = blocks.findIndex((block, position) => {
    const parent = position === 0 ? applied : blocks[position - 1]!;
    return parent !== null && block.previousHash !== parent.hash;
  });
  return broken === -1 ? blocks : blocks.slice(0, broken);
}
