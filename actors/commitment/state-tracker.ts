import { availableParallelism } from 'node:os';
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises';
import type { ChainNames, LeafChange } from '../../src/consensus/balance-leaf.ts';
import { BalanceTree, type BucketBatch } from '../../src/consensus/balance-tree.ts';
import { CommitmentHashes, toHex } from '../../src/consensus/commitment-hashes.ts';
import { type Connection, rows } from '../../src/db/core/connection.ts';
import { readLeafPages } from '../../src/db/tables/state-reader.ts';
import { hasCode, PlatformError } from '../../src/errors.ts';
import type { Logger } from '../../src/log.ts';
import type { StateCommitment } from '../../src/wire/report.ts';

/** Leaves of one task of the pool: some 200 ms. */
const BATCH_LEAVES = 2_000;
const LANES = Math.min(4, availableParallelism());
/** Leaves between two breaths of the event loop: some 10 ms. */
const SLICE_LEAVES = 64;
/** A group that moves more leaves is not worth its while: the tree is made anew, on the pool. */
export const GROUP_LEAVES_MAX = 20_000;
/** Leaf changes that are kept to be taken back, and those that wait for the first tree. */
const HISTORY_LEAVES = 100_000;
const QUEUE_LEAVES = 200_000;
/** Before a tree is tried again that could not be made, and one that there is a reason not to make. */
const RETRY_MS = 30_000;
const REFRAIN_MS = 600_000;
const BUSY_PAUSE_MS = 500;

export interface TrackerOptions {
  readonly names: ChainNames;
  readonly domain: string;
  readonly log: Logger;
  /** Computes a batch's tops on the task pool. */
  readonly computeTops: (batch: BucketBatch) => Promise<BucketBatch>;
  /** Called whenever something that is reported has changed. */
  readonly changed: () => void;
}

/** What one group did to the tree. */
interface Step {
  /** The block below the group. */
  readonly base: number;
  readonly last: number;
  readonly changes: readonly LeafChange[];
}

/** A group whose tree is still to come. */
interface Waiting extends Step {
  readonly claimed: string | null;
}

/**
 * The balance tree of one database, in step with its groups.
 *
 * The first tree is made in the background from one consistent read; groups that come meanwhile wait for it. A group is taken
 * in by `advance` and kept or taken back by `settle`; nothing else may happen between the two.
 */
export class StateTracker {
  readonly hashes: CommitmentHashes;
  readonly #options: TrackerOptions;
  #phase: StateCommitment['phase'] = 'waiting';
  #reason: string | null = null;
  #percent: number | null = null;
  #retryAt = 0;
  #build: AbortController | undefined;
  #tree: BalanceTree | undefined;
  /** The tree cannot go back below this block. */
  #floor = 0;
  /** The last settled group's last block. */
  #height = -1;
  #checked: number | null = null;
  #queue: Waiting[] = [];
  #history: Step[] = [];
  #pending: { readonly step: Waiting; readonly isIn: boolean } | undefined;

  constructor(options: TrackerOptions) {
    this.#options = options;
    this.hashes = new CommitmentHashes(options.domain);
  }

  get report(): StateCommitment {
    const [phase, percent, height, reason] = [this.#phase, this.#percent, this.#checked, this.#reason];
    return { phase, percent, height, balances: this.#tree?.size ?? null, reason };
  }

  /** It is time to begin a first tree. */
  get isWanted(): boolean {
    return !this.isFollowing && performance.now() >= this.#retryAt;
  }

  /** Groups must be handed to `advance`. */
  get isFollowing(): boolean {
    return this.#phase === 'building' || this.#phase === 'ready';
  }

  /**
   * Makes the first tree in the background.
   *
   * @param connection in a consistent snapshot at this block; it is the tracker's now
   */
  begin(connection: Connection, height: number): void {
    this.reset(null);
    const build = new AbortController();
    this.#build = build;
    this.#floor = height;
    this.#height = height;
    this.#say('building', null);
    void this.#makeTree(connection, build.signal)
      .then(
        (tree) => {
          if (build.signal.aborted) return;
          this.#tree = tree;
          this.#percent = null;
          this.#say('ready', null);
          this.#options.log.info({ height, balances: tree.size }, 'balance tree built');
        },
        (caught: unknown) => build.signal.aborted || this.#giveUp(caught)
      )
      .finally(() => connection.destroy());
  }

  /**
   * Takes a group in.
   *
   * @param changes null when they are not known: the tree is made anew
   * @param claimed what the source says the root is; null when it does not
   * @returns the root as hex; null while there is no tree
   * @throws {PlatformError} STATE_ROOT_MISMATCH, of this group or of one that waited for the tree
   */
  async advance(
    span: Omit<Step, 'changes'>,
    changes: readonly LeafChange[] | null,
    claimed: string | null
  ): Promise<string | null> {
    if (changes === null || changes.length > GROUP_LEAVES_MAX) this.reset('more changed than can be followed');
    if (!this.isFollowing || changes === null) return null;
    await this.drain();
    const step = { ...span, changes, claimed };
    if (!this.#tree) {
      this.#pending = { step, isIn: false };
      return null;
    }
    const inverse = await this.#apply(changes);
    this.#pending = { step: { ...step, changes: inverse }, isIn: true };
    const root = toHex(this.#tree.root);
    compareRoots('balances_root', span.last, root, claimed);
    return root;
  }

  /** Keeps what the last `advance` took in, or takes it back. */
  async settle(isKept: boolean): Promise<void> {
    const pending = this.#pending;
    this.#pending = undefined;
    if (!pending || !this.isFollowing) return;
    const { step, isIn } = pending;
    if (!isKept) {
      if (isIn) await this.#apply(step.changes);
      return;
    }
    this.#height = step.last;
    if (isIn) this.#remember(step);
    else this.#queue.push(step);
    if (size(this.#queue) > QUEUE_LEAVES) this.reset('the first tree took too long');
  }

  /** Takes in the groups that waited for the tree, when it is there. @throws {PlatformError} STATE_ROOT_MISMATCH */
  async drain(): Promise<void> {
    for (let step = this.#tree && this.#queue.shift(); step; step = this.#queue.shift()) {
      const changes = await this.#apply(step.changes);
      compareRoots('balances_root', step.last, toHex(this.#tree!.root), step.claimed);
      this.#remember({ ...step, changes });
    }
  }

  /** Takes back the groups that end above a height; a tree that cannot is made anew. */
  async rollBack(height: number): Promise<void> {
    if (!this.isFollowing) return;
    if (height < this.#floor) return this.reset('a rollback below what can be taken back');
    this.#queue = this.#queue.filter(({ last }) => last <= height);
    while ((this.#history.at(-1)?.last ?? -1) > height) await this.#apply(this.#history.pop()!.changes);
    this.#height = Math.min(height, this.#height);
  }

  /** A database that is not where the tree's groups ended went on without it. */
  align(height: number | null): void {
    if (this.isFollowing && height !== this.#height) this.reset('the database moved on its own');
  }

  /** Forgets the tree: the next one is made from what the database holds then. */
  reset(reason: string | null): void {
    if (reason !== null && this.isFollowing) this.#options.log.info(`rebuilding the balance tree: ${reason}`);
    this.#build?.abort();
    this.#build = undefined;
    this.#tree = undefined;
    this.#queue = [];
    this.#history = [];
    this.#pending = undefined;
    this.#percent = null;
    this.#say('waiting', null);
  }

  /** There is no tree, and this is why; it is tried again after a while. */
  refrain(phase: 'failed' | 'unsupported' | 'off', reason: string): void {
    this.reset(null);
    this.#retryAt = performance.now() + REFRAIN_MS;
    if (phase === 'failed') this.#options.log.error(`state roots are not computed: ${reason}`);
    this.#say(phase, reason);
  }

  #giveUp(caught: unknown): void {
    const reason = caught instanceof Error ? caught.message : String(caught);
    if (hasCode(caught, 'STATE_UNENCODABLE')) this.refrain('failed', reason);
    else {
      this.reset(null);
      this.#retryAt = performance.now() + RETRY_MS;
      this.#options.log.warn({ err: caught }, `building the balance tree failed; retrying: ${reason}`);
    }
  }

  #say(phase: StateCommitment['phase'], reason: string | null): void {
    [this.#phase, this.#reason] = [phase, reason];
    this.#options.changed();
  }

  async #apply(changes: readonly LeafChange[]): Promise<LeafChange[]> {
    const inverses: LeafChange[][] = [];
    for (let from = 0; from < changes.length; from += SLICE_LEAVES) {
      if (from > 0) await breathe();
      inverses.push(this.#tree!.apply(changes.slice(from, from + SLICE_LEAVES)));
    }
    return inverses.reverse().flat();
  }

  #remember(step: Step): void {
    this.#checked = step.last;
    this.#history.push(step);
    while (size(this.#history) > HISTORY_LEAVES) this.#floor = this.#history.shift()!.last;
  }

  async #makeTree(connection: Connection, signal: AbortSignal): Promise<BalanceTree> {
    const { names, log } = this.#options;
    const [row] = await rows(connection, 'SELECT COUNT(*) AS n FROM balances');
    const total = Number(row?.['n']);
    const tree = new BalanceTree(this.hashes, total);
    log.info({ balances: total }, 'building the balance tree');
    for await (const page of readLeafPages(connection, this.hashes, names)) {
      signal.throwIfAborted();
      tree.load(page);
    }
    connection.destroy();
    let done = 0;
    const batches = tree.batches(BATCH_LEAVES);
    const lane = async () => {
      for (const { from, batch } of batches) {
        tree.finish(from, await this.#onPool(batch, signal));
        done += batch.counts.reduce((sum, leaves) => sum + leaves, 0);
        this.#tell(Math.floor((100 * done) / Math.max(1, tree.size)));
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return tree;
  }

  async #onPool(batch: BucketBatch, signal: AbortSignal): Promise<BucketBatch> {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await this.#options.computeTops(batch);
      } catch (caught) {
        if (!hasCode(caught, 'TASKS_BUSY')) throw caught;
        await sleep(BUSY_PAUSE_MS, undefined, { signal });
      }
    }
  }

  #tell(percent: number): void {
    if (percent === this.#percent) return;
    if (percent % 10 === 0 && percent > 0) this.#options.log.info({ percent }, 'building the balance tree');
    this.#percent = percent;
    this.#options.changed();
  }
}

/** @throws {PlatformError} STATE_ROOT_MISMATCH when the source names a root, and it is another one */
export function compareRoots(root: string, height: number, ours: string | null, theirs: string | null): void {
  if (theirs === null || ours === theirs.toLowerCase()) return;
  const reason = `${root} of block ${height} is ${ours ?? 'not to be computed'}, the source says ${theirs.slice(0, 64)}`;
  throw new PlatformError('STATE_ROOT_MISMATCH', { reason, root, height, ours, theirs: theirs.slice(0, 64) });
}

/** What is kept of some steps; one that changed nothing is kept too. */
function size(steps: readonly Step[]): number {
  return steps.reduce((sum, { changes }) => sum + changes.length + 1, 0);
}
