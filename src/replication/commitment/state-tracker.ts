import { createActor, type InspectionEvent } from 'xstate';
import { Effects } from '../../../actors/runtime/thread/effects.ts';
import { balanceTreeMachine, type TreeRefusal } from '../../../machines/sync/balance-tree.ts';
import type { ChainNames, LeafChange } from '../../consensus/balance-leaf.ts';
import type { BucketBatch } from '../../consensus/balance-tree.ts';
import { CommitmentHashes } from '../../consensus/commitment-hashes.ts';
import type { Connection } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { StateCommitment } from '../../wire/state/report.ts';
import { makeFirstTree } from './first-tree.ts';
import { type ClaimedStep, FollowedTree } from './followed-tree.ts';

/** Leaf changes of one group, beyond which the tree is rebuilt on the pool. */
export const GROUP_LEAVES_MAX = 20_000;
const PAUSES = { retryMs: 30_000, refusalMs: 600_000 };

export interface TrackerOptions {
  readonly names: ChainNames;
  readonly domain: string;
  readonly log: Logger;
  /** Sees the machine's changes of state. */
  readonly inspect: (inspection: InspectionEvent) => void;
  /** Computes a batch's tops on the task pool. */
  readonly computeTops: (batch: BucketBatch) => Promise<BucketBatch>;
  /** Called whenever something that is reported has changed. */
  readonly changed: () => void;
  /** Whether, after a rollback into a group, the next group leaves out the changes of those of its blocks that stay. */
  readonly isCutGroupLost?: boolean;
}

/** A tree under way or there, and the snapshot that it is made from. */
interface Build {
  readonly connection: Connection;
  readonly followed: FollowedTree;
}

/** The balance tree of one database, in step with its groups. The first tree is made in the background from one consistent read. */
export class StateTracker {
  readonly hashes: CommitmentHashes;
  readonly #options: TrackerOptions;
  readonly #machine;
  /** Null unless the machine is `following`. */
  #build: Build | null = null;
  #percent: number | null = null;
  #checked: number | null = null;

  constructor(options: TrackerOptions) {
    this.#options = options;
    this.hashes = new CommitmentHashes(options.domain);
    const effects = new Effects({
      toFault: (caught) => PlatformError.from(caught),
      onFault: (fault) => this.#tellFault(fault)
    });
    const build = effects.effect<void>('build', (signal) => this.#makeTree(this.#build!, signal));
    const machine = balanceTreeMachine.provide({ actors: { build } });
    this.#machine = createActor(machine, { input: PAUSES, inspect: options.inspect });
    this.#machine.start();
    this.#machine.subscribe((snapshot) => {
      if (!snapshot.hasTag('following')) this.#setBuild(null);
      options.changed();
    });
  }

  get report(): StateCommitment {
    const { value, context } = this.#machine.getSnapshot();
    const phase = typeof value === 'string' ? value : (Object.keys(value)[0] as keyof typeof value);
    const percent = phase === 'building' ? this.#percent : null;
    const balances = this.#build?.followed.size ?? null;
    return { phase, percent, height: this.#checked, balances, reason: context.reason };
  }

  /** The root after the last group, as hex; null while there is no tree, or groups wait for it. */
  get root(): string | null {
    return this.#build?.followed.root ?? null;
  }

  /** Whether it is time to begin a first tree. */
  get isWanted(): boolean {
    return this.#machine.getSnapshot().hasTag('due');
  }

  /** Groups must be handed to `advance`. */
  get isFollowing(): boolean {
    return this.#build !== null;
  }

  /**
   * Makes the first tree in the background.
   *
   * @param connection in a consistent snapshot at this block; the tracker closes it
   */
  begin(connection: Connection, height: number): void {
    const followed = new FollowedTree(height, (last) => (this.#checked = last));
    this.#setBuild({ connection, followed });
    this.#percent = null;
    this.#machine.send({ type: 'build.requested', height });
  }

  /**
   * Takes a group in.
   *
   * @param changes null when they are not known: the tree is rebuilt
   * @param claimed what the source says the root is; null when it does not
   * @returns the root as hex; null while there is no tree, or groups before this one wait for it
   * @throws {PlatformError} STATE_ROOT_MISMATCH
   */
  async advance(
    span: Omit<ClaimedStep, 'changes' | 'claimed'>,
    changes: readonly LeafChange[] | null,
    claimed: string | null
  ): Promise<string | null> {
    if (changes === null || changes.length > GROUP_LEAVES_MAX) this.discard('more changed than can be followed');
    if (!this.#build || changes === null) return null;
    return this.#build.followed.advance({ ...span, changes, claimed });
  }

  /** Keeps what the last `advance` took in, or takes it back. */
  async settle(isKept: boolean): Promise<void> {
    await this.#build?.followed.settle(isKept);
    if (this.#build?.followed.isOverdue) this.discard('the first tree took too long');
  }

  /** Applies the groups that waited for the tree, once it is built, for at most this long. @throws {PlatformError} STATE_ROOT_MISMATCH */
  async drain(ms?: number): Promise<void> {
    await this.#build?.followed.drain(ms);
  }

  /** Undoes the groups that end above a height; a tree that cannot is rebuilt. */
  async rollBack(height: number): Promise<void> {
    const position = (await this.#build?.followed.rollBack(height)) ?? 'there';
    if (position === 'nowhere') this.discard('a rollback below what can be taken back');
    if (position === 'below' && this.#options.isCutGroupLost) this.discard('a rollback into the middle of a group');
  }

  /** Discards the tree if the database is not where the tree's groups ended: it went on without the tree. */
  align(height: number | null): void {
    if (this.#build && height !== this.#build.followed.height) this.discard('the database moved on its own');
  }

  /** Forgets the tree: the next one is made from what the database holds then. */
  discard(reason: string): void {
    if (this.#build) this.#options.log.info(`rebuilding the balance tree: ${reason}`);
    this.#machine.send({ type: 'tree.discarded' });
  }

  /** Records the reason for which there is no tree; the database is looked at again after ten minutes. */
  refuse(refusal: TreeRefusal, reason: string): void {
    if (refusal === 'failed') this.#options.log.error(`state roots are not computed: ${reason}`);
    this.#machine.send({ type: 'tree.refused', refusal, reason });
  }

  #tellFault(fault: PlatformError): void {
    const { log } = this.#options;
    if (fault.code === 'STATE_UNENCODABLE') log.error(`state roots are not computed: ${fault.message}`);
    else log.warn({ err: fault }, `building the balance tree failed; retrying: ${fault.message}`);
  }

  async #makeTree({ connection, followed }: Build, signal: AbortSignal): Promise<void> {
    const { names, log, computeTops } = this.#options;
    const { height } = followed;
    const onProgress = (percent: number) => this.#tellProgress(percent);
    log.info({ height }, 'building the balance tree');
    const options = { hashes: this.hashes, names, computeTops, onProgress, signal };
    followed.setTree(await makeFirstTree(connection, options));
    log.info({ height, balances: followed.size }, 'balance tree built');
  }

  #setBuild(build: Build | null): void {
    this.#build?.connection.destroy();
    this.#build = build;
  }

  #tellProgress(percent: number): void {
    if (percent === this.#percent) return;
    if (percent % 10 === 0 && percent > 0) this.#options.log.info({ percent }, 'building the balance tree');
    this.#percent = percent;
    this.#options.changed();
  }
}
