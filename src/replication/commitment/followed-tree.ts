import { setImmediate as breathe } from 'node:timers/promises';
import type { LeafChange } from '../../consensus/balance-leaf.ts';
import type { BalanceTree } from '../../consensus/balance-tree.ts';
import { toHex } from '../../consensus/commitment-hashes.ts';
import { PlatformError } from '../../errors.ts';

/** Leaves between two breaths of the event loop: some 10 ms. */
const SLICE_LEAVES = 64;
/** Leaf changes at most: those kept for undo, and those that wait for the first tree. */
const HISTORY_LEAVES = 100_000;
const QUEUE_LEAVES = 200_000;

/** Changes that one group made to the tree. */
interface Step {
  /** The block below the group. */
  readonly base: number;
  readonly last: number;
  readonly changes: readonly LeafChange[];
}

/** A group, and the root after it that its source claims; null where it claims none. */
export interface ClaimedStep extends Step {
  readonly claimed: string | null;
}

/**
 * Position of a tree after a rollback. `there`: at its height. `below`: at the beginning of the group that the height cuts, without
 * the blocks of it that stay. `nowhere`: the history that is kept for undo does not reach that far.
 */
type RollbackPosition = 'there' | 'below' | 'nowhere';

/**
 * One tree since the block at which it was begun, with the groups that wait for it and those that it can undo.
 *
 * `advance` takes a group in, then `settle` keeps it or takes it back; nothing else may happen between the two.
 */
export class FollowedTree {
  readonly #onRoot: (height: number) => void;
  #tree: BalanceTree | null = null;
  /** The tree cannot go back below this block. */
  #floor: number;
  /** The last settled group's last block. */
  #height: number;
  #queue: ClaimedStep[] = [];
  #history: Step[] = [];
  #pending: { readonly step: ClaimedStep; readonly isIn: boolean } | undefined;

  /** @param onRoot called with the last block of a group whose root was computed, compared and kept */
  constructor(height: number, onRoot: (height: number) => void) {
    this.#floor = height;
    this.#height = height;
    this.#onRoot = onRoot;
  }

  /** The last block that was settled. */
  get height(): number {
    return this.#height;
  }

  /** Balances above zero; null before the first tree. */
  get size(): number | null {
    return this.#tree?.size ?? null;
  }

  /** The root after the last group, as hex; null before the first tree, and as long as groups wait. */
  get root(): string | null {
    return this.#tree && this.#queue.length === 0 ? toHex(this.#tree.root) : null;
  }

  /** Whether more groups wait for the first tree than is worth keeping. */
  get isOverdue(): boolean {
    return size(this.#queue) > QUEUE_LEAVES;
  }

  /** Sets the first tree, of the block that this was begun at. */
  setTree(tree: BalanceTree): void {
    this.#tree = tree;
  }

  /**
   * @returns the root as hex; null before the first tree, and as long as groups before this one wait
   * @throws {PlatformError} STATE_ROOT_MISMATCH
   */
  async advance(step: ClaimedStep): Promise<string | null> {
    if (!this.#tree || this.#queue.length > 0) {
      this.#pending = { step, isIn: false };
      return null;
    }
    const inverse = await this.#apply(step.changes);
    this.#pending = { step: { ...step, changes: inverse }, isIn: true };
    const root = toHex(this.#tree.root);
    compareRoots('balances_root', step.last, root, step.claimed);
    return root;
  }

  /** Keeps what the last `advance` took in, or takes it back. */
  async settle(isKept: boolean): Promise<void> {
    const pending = this.#pending;
    this.#pending = undefined;
    if (!pending) return;
    const { step, isIn } = pending;
    if (!isKept) {
      if (isIn) await this.#apply(step.changes);
      return;
    }
    this.#height = step.last;
    if (isIn) this.#remember(step);
    else this.#queue.push(step);
  }

  /**
   * Applies the groups that waited for the tree, once it is built, for at most this long.
   *
   * @throws {PlatformError} STATE_ROOT_MISMATCH
   */
  async drain(ms = Number.POSITIVE_INFINITY): Promise<void> {
    const end = performance.now() + ms;
    while (this.#tree && performance.now() < end) {
      const step = this.#queue.shift();
      if (!step) return;
      const changes = await this.#apply(step.changes);
      compareRoots('balances_root', step.last, toHex(this.#tree!.root), step.claimed);
      this.#remember({ ...step, changes });
    }
  }

  /** Undoes the groups that end above a height, each as a whole. */
  async rollBack(height: number): Promise<RollbackPosition> {
    if (height < this.#floor) return 'nowhere';
    const undone = this.#queue.filter(({ last }) => last > height);
    this.#queue = this.#queue.filter(({ last }) => last <= height);
    while ((this.#history.at(-1)?.last ?? -1) > height) {
      const step = this.#history.pop()!;
      await this.#apply(step.changes);
      undone.push({ ...step, claimed: null });
    }
    this.#height = Math.min(height, this.#height);
    return undone.every(({ base }) => base >= height) ? 'there' : 'below';
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
    this.#onRoot(step.last);
    this.#history.push(step);
    while (size(this.#history) > HISTORY_LEAVES) this.#floor = this.#history.shift()!.last;
  }
}

/** @throws {PlatformError} STATE_ROOT_MISMATCH when the source names a root, and it is another one */
export function compareRoots(
  root: string,
  height: number,
  replicaRoot: string | null,
  sourceRoot: string | null
): void {
  if (sourceRoot === null || replicaRoot === sourceRoot.toLowerCase()) return;
  const reason = `${root} of block ${height} is ${replicaRoot ?? 'unknown'}, the source says ${sourceRoot.slice(0, 64)}`;
  throw new PlatformError('STATE_ROOT_MISMATCH', {
    reason,
    root,
    height,
    ours: replicaRoot,
    theirs: sourceRoot.slice(0, 64)
  });
}

/** Returns the size of the history of some steps; one that changed nothing counts too. */
function size(steps: readonly Step[]): number {
  return steps.reduce((sum, { changes }) => sum + changes.length + 1, 0);
}
