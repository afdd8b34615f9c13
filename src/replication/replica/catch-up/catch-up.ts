import type { Outcome } from '../../../../machines/sync/replica.ts';
import type { SourceStatus } from '../../client/source-client.ts';
import type { Subscription } from '../../client/subscription.ts';
import { type ReplicaState, writeReplicaState } from '../database/state.ts';
import type { SourceBackoff } from '../parts/backoff.ts';
import { canUndo } from '../parts/doubt.ts';
import type { Replica } from '../parts/replica.ts';
import type { SourceQuorum } from '../quorum/source-quorum.ts';
import type { SinceCatchUp } from './since-catch-up.ts';
import type { TipExaminer, TipState } from './tip-examiner.ts';

/** Blocks behind a snapshot that are left to the live stream; for more, another snapshot is taken while that brings the replica closer. */
const LIVE_BLOCKS = 100;
/** Snapshots in a row after which the source was ahead again, from which on that is logged. */
const OFTEN = 3;
/** Wait after a rollback for a block of the new branch; then a comparison takes the place of its since-snapshot. */
const RECONCILE_PATIENCE_MS = 5_000;
/** Before a source is asked once more whether it left the replica's chain, where only loading the replica again would help. */
const ASK_AGAIN_MS = 5_000;
/** Pause between two looks at a source that has nothing new yet. */
const IDLE_PAUSE_MS = 500;

const DEEP = 'by its first one, its chain leaves the replica further back than the undo journal leads';

/** Dependencies of a catch-up. */
export interface CatchUpParts {
  readonly replica: Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'commitment'>;
  readonly sourceQuorum: SourceQuorum;
  readonly examiner: TipExaminer;
  readonly since: SinceCatchUp;
  readonly backoff: SourceBackoff;
  /** The stream is open before the catch-up begins, so it tells every block above the first height that the source is asked for. */
  readonly subscription: Subscription;
}

/** The beginning of one catch-up. */
interface Start {
  /** Whether a rollback came before: a since-snapshot with whole tables must end it, or the chain be shorter. */
  readonly reconcile: boolean;
  /** The tip that the last rollback left. */
  readonly leftHeight: number;
  /** Catch-ups in a row after which the replica was soon behind again. */
  readonly rounds: number;
}

/** One catch-up, from its first look at the source to the block from which the live stream goes on. */
export class CatchUp {
  readonly #parts: CatchUpParts;
  readonly #leftHeight: number;
  readonly #from: number;
  #state: ReplicaState;
  #mustReconcile: boolean;
  /** The source's tip, and since when it has it. */
  #tip: { readonly height: number | null; readonly since: number } = { height: -1, since: 0 };
  /** The live stream tells every block above it. */
  #announcedFrom: number | null = null;
  /** The replica's tip stands on the source's chain, as far as that can be said. */
  #isExamined = false;
  /** Whether the tip stands only if a majority names the block where the catch-up ends. */
  #isUnnamed = false;
  #isAskedAgain = false;
  /** Snapshots after which the source was ahead again. */
  #rounds: number;
  /** Blocks that were missing when the last of them was asked for. */
  #missed = Number.POSITIVE_INFINITY;

  constructor(parts: CatchUpParts, { reconcile, leftHeight, rounds }: Start) {
    const { state } = parts.replica.store;
    this.#parts = parts;
    this.#rounds = rounds;
    this.#leftHeight = leftHeight;
    this.#state = state;
    this.#from = state.height ?? 0;
    this.#mustReconcile = reconcile || state.phase === 'reconciling';
  }

  async run(signal: AbortSignal): Promise<Outcome> {
    const { sourceQuorum } = this.#parts;
    for (;;) {
      signal.throwIfAborted();
      const status = await this.#lookAtSource(signal);
      const elsewhere = this.#isExamined ? null : await this.#examine(status, signal);
      if (elsewhere === 'again') continue;
      if (elsewhere) return elsewhere;
      if (this.#needsSnapshot(status)) {
        if ((await this.#applySince(status, signal)) === 'halted') return { kind: 'halted' };
      } else if (!this.#isAwaited || this.#endsShorter(status)) break;
      else await this.#awaitBlock(signal);
      if (this.#isUnnamed) sourceQuorum.throwIfLeftBehind(status.height ?? -1, performance.now() - this.#tip.since);
    }
    this.#parts.replica.progress.percent = null;
    await this.#follow();
    return this.#isAmended ? { kind: 'settling' } : { kind: 'done' };
  }

  get #own(): number {
    return this.#state.height!;
  }

  /** Only a since-snapshot ends this catch-up: blocks of the live stream do not bring what is missing. */
  get #isAwaited(): boolean {
    return this.#mustReconcile || this.#isUnnamed;
  }

  #missing({ height }: SourceStatus): number {
    return (height ?? this.#own) - this.#own;
  }

  async #lookAtSource(signal: AbortSignal): Promise<SourceStatus> {
    const { sources } = this.#parts.replica;
    const status = await sources.client.status(signal);
    sources.standsAt(status.height);
    this.#announcedFrom ??= status.height;
    if (status.height !== this.#tip.height) this.#tip = { height: status.height, since: performance.now() };
    await this.#awaitSettled(status);
    return status;
  }

  /**
   * Marks the replica as incomplete while its source has not sent everything: it has not yet looked at what changed
   * while it was away, or it sent amendments that did not arrive here.
   */
  async #awaitSettled({ height, settledHeight, amendments }: SourceStatus): Promise<void> {
    const { complete, phase, amendments: known } = this.#state;
    if (!complete || phase !== 'following' || settledHeight === undefined) return;
    const isAmended = height === this.#own && known !== null && (amendments ?? 0) > known;
    if ((settledHeight ?? -1) >= this.#own && !isAmended) return;
    const { store } = this.#parts.replica;
    await writeReplicaState(store.writer, { complete: false });
    this.#state = await store.reloadState();
  }

  /** @returns where it leads when the replica's tip does not stand; `again`: only a second answer may say so */
  async #examine(status: SourceStatus, signal: AbortSignal): Promise<Outcome | 'again' | null> {
    const { replica, examiner } = this.#parts;
    const examined = this.#withWord(await examiner.examine(this.#state, status, signal), status);
    if (typeof examined !== 'object') {
      this.#isUnnamed = examined !== 'stands';
      this.#isExamined = examined !== 'unsettled';
      return null;
    }
    if (this.#isAskedAgain || examined.kind !== 'forked' || (await canUndo(replica, examined.height))) return examined;
    this.#isAskedAgain = true;
    await this.#awaitSecondAnswer(examined.height, signal);
    return 'again';
  }

  /** Applies the source's message of how far back it left the replica's chain, or how far it stands below its tip. */
  #withWord(examined: Outcome | TipState, { height }: SourceStatus): Outcome | TipState {
    const { store } = this.#parts.replica;
    const { toldFork } = store;
    if (typeof examined === 'object' && examined.kind === 'forked')
      return { kind: 'forked', height: Math.min(examined.height, toldFork ?? examined.height) };
    if (toldFork !== null && height !== null && height <= toldFork) return { kind: 'forked', height: toldFork };
    if (examined === 'stands') store.toldFork = null;
    return examined;
  }

  /** Waits for a second answer: one alone neither halts nor empties a replica. */
  async #awaitSecondAnswer(fork: number, signal: AbortSignal): Promise<void> {
    const { replica, subscription } = this.#parts;
    const { url } = replica.sources.client;
    replica.log.warn({ fork: fork + 1 }, `${url} is asked once more: ${DEEP}`);
    replica.progress.waiting(`a second answer of ${url}: ${DEEP}`);
    await subscription.pause(ASK_AGAIN_MS, signal);
  }

  /** The live stream tells every block that is missing. */
  get #isAtTold(): boolean {
    return this.#announcedFrom !== null && this.#own >= this.#announcedFrom;
  }

  #needsSnapshot(status: SourceStatus): boolean {
    const missing = this.#missing(status);
    const isNear = missing <= LIVE_BLOCKS || missing >= this.#missed;
    const isTold = this.#isAtTold && isNear;
    return this.#isExamined && missing > 0 && (this.#isAwaited || !isTold);
  }

  async #applySince(status: SourceStatus, signal: AbortSignal): Promise<'halted' | null> {
    const { replica, since, backoff, subscription } = this.#parts;
    const [state, own, missing] = [this.#state, this.#own, this.#missing(status)];
    await backoff.pause(signal);
    this.#tellChase(missing);
    const kind = {
      isWhole: this.#mustReconcile || state.phase === 'adopting',
      leftHeight: this.#mustReconcile ? this.#leftHeight : -1
    };
    const verdict = await backoff.attempt(() => since.apply(state, status, kind, signal));
    backoff.succeeded();
    if (verdict === 'halted') return 'halted';
    this.#state = await replica.store.reloadState();
    // The source announced blocks that its snapshots lack so far, or it has left their branch.
    if (this.#own === own) await subscription.pause(IDLE_PAUSE_MS, signal);
    else this.#isUnnamed = false;
    if (verdict === 'other') this.#isExamined = false;
    this.#mustReconcile = this.#state.phase === 'reconciling';
    const total = Math.max(1, own + missing - this.#from);
    replica.progress.percent = Math.floor((100 * (this.#own - this.#from)) / total);
    return null;
  }

  /** Tells what is waited for, and that the replica cannot become live while its source grows as fast as snapshots are applied. */
  #tellChase(missing: number): void {
    const { log, progress, sources } = this.#parts.replica;
    const what = `the since-snapshot of ${sources.client.url} from block ${this.#own + 1} on`;
    if (this.#isAtTold) [this.#rounds, this.#missed] = [this.#rounds + 1, missing];
    const times = this.#rounds;
    const why = `after ${times} in a row the source was ahead again, now by ${missing} blocks: it grows faster than they are applied`;
    progress.waiting(times < OFTEN ? what : `${what}; ${why}`);
    if (times === OFTEN) log.warn({ missing }, `the replica does not become live: ${why}`);
  }

  /**
   * Returns whether the new branch has had no further block for a while. A comparison then finds what its
   * since-snapshot would have brought.
   */
  #endsShorter(status: SourceStatus): boolean {
    const isShorter = this.#isExamined && !this.#isUnnamed && this.#missing(status) === 0 && this.#isCompared;
    if (!isShorter || performance.now() - this.#tip.since <= RECONCILE_PATIENCE_MS) return false;
    const { log } = this.#parts.replica;
    log.info({ height: this.#own }, 'the chain became shorter: the replica is compared with its source');
    return true;
  }

  async #awaitBlock(signal: AbortSignal): Promise<void> {
    const { replica, subscription } = this.#parts;
    replica.progress.waiting(`${replica.sources.client.url} to send a block above ${this.#own}`);
    await subscription.pause(IDLE_PAUSE_MS, signal);
    this.#isExamined = false; // what comes may be another branch
  }

  /**
   * Changes to following blocks. A replica that is not complete lacks rows that no message and no snapshot brought; a
   * comparison finds them.
   */
  async #follow(): Promise<void> {
    const { store } = this.#parts.replica;
    const { phase, complete, misses: missed } = this.#state;
    if (phase === 'following') return;
    const misses = missed || (!complete && this.#isCompared);
    await writeReplicaState(store.writer, { complete: !misses, misses, phase: 'following' });
    this.#state = await store.reloadState();
  }

  /** Whether its source offers digests, as far as is known. */
  get #isCompared(): boolean {
    const { store, sources } = this.#parts.replica;
    return store.state.schemaFingerprint !== null && sources.followed.offersDigests;
  }

  /** A snapshot brought the last block before its source had looked at everything: the live stream brings the rest. */
  get #isAmended(): boolean {
    const { complete, misses, amendments } = this.#state;
    return !complete && !misses && amendments !== null;
  }
}
