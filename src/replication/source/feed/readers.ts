import { setTimeout as sleep } from 'node:timers/promises';
import type { SnapshotChecksums } from '../reading/snapshot-checksums.ts';

interface ReadersOptions {
  /** The last broadcast height; null before the feed has started. */
  readonly height: () => number | null;
  /** Reckons with what readers stand on. */
  readonly reconcile: (checksums: SnapshotChecksums) => void;
  /** Keeps what a successor needs to know, `isUncertain` included. */
  readonly keep: () => Promise<void>;
  /**
   * Longest time that each side waits for the other: an orphaned block is never reached, and a build may die. Default 10 seconds.
   */
  readonly patienceMs?: number;
}

/** An action that waits for its block, and for the group under way. */
interface Waiting {
  readonly height: number;
  /** Also while a group waits to begin. */
  readonly urgent: boolean;
  readonly act: () => void;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * The readers of snapshots, and the groups with which they continue.
 *
 * A snapshot build ends with checksums of the state that its readers have. From `pauseGroups` to `reconcile` no group begins: the next
 * group carries the rows that these readers lack. Both waits are bounded, and later pauses do not delay a group that waits.
 */
export class SnapshotReaders {
  readonly #options: Required<ReadersOptions>;
  /** By build, until its state is reconciled. */
  readonly #held = new Map<string, PromiseWithResolvers<void>>();
  #waiting: Waiting[] = [];
  #group: 'none' | 'waits' | 'runs' = 'none';

  constructor(options: ReadersOptions) {
    this.#options = { patienceMs: 10_000, ...options };
  }

  /** Whether readers continue from a state that is not known yet. */
  get isUncertain(): boolean {
    return this.#held.size > 0;
  }

  /** Returns when the blocks up to the snapshot's are broadcast, and no group will begin before its state is reconciled. */
  async pauseGroups(buildId: string, height: number): Promise<void> {
    await this.#inTurn(height, false, () => this.#held.set(buildId, Promise.withResolvers()));
    await this.#options.keep();
  }

  /** Returns when the blocks up to a height are broadcast, or after some patience. */
  async reached(height: number): Promise<void> {
    await this.#inTurn(height, true, () => undefined);
  }

  /** Registers a snapshot's state, and lets groups continue. @param checksums null when it could not be read */
  async reconcile(buildId: string, checksums: SnapshotChecksums | null): Promise<void> {
    const held = this.#held.get(buildId);
    if (checksums) await this.#inTurn(checksums.height, true, () => this.#options.reconcile(checksums));
    this.#held.delete(buildId);
    await this.#options.keep();
    held?.resolve();
  }

  /** Broadcasts a group or a reorg while no snapshot is being reconciled. */
  async between(broadcast: () => Promise<void>): Promise<void> {
    this.#group = 'waits';
    await this.#patiently(Promise.all([...this.#held.values()].map(({ promise }) => promise)));
    this.#held.clear();
    this.#group = 'runs';
    try {
      await broadcast();
    } finally {
      this.#group = 'none';
      this.serve();
    }
  }

  /** Releases the callers that wait for a height which is broadcast now. */
  serve(): void {
    const height = this.#options.height();
    if (height === null || this.#group === 'runs') return;
    const isServed = (each: Waiting) => each.height <= height && (each.urgent || this.#group === 'none');
    const served = this.#waiting.filter(isServed);
    this.#waiting = this.#waiting.filter((each) => !isServed(each));
    for (const { act, done } of served) {
      act();
      done.resolve();
    }
  }

  async #inTurn(height: number, urgent: boolean, act: () => void): Promise<void> {
    const waiting: Waiting = { height, urgent, act, done: Promise.withResolvers() };
    this.#waiting.push(waiting);
    this.serve();
    await this.#patiently(waiting.done.promise);
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
  }

  async #patiently(what: Promise<unknown>): Promise<void> {
    const stop = new AbortController();
    const patience = sleep(this.#options.patienceMs, undefined, { ref: false, signal: stop.signal });
    await Promise.race([what, patience.catch(() => undefined)]);
    stop.abort();
  }
}
