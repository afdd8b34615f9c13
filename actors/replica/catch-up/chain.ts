import type { Outcome } from '../../../machines/sync/replica.ts';
import { refuseLoss } from '../../../src/db/replica/apply/adoption.ts';
import { planRollback, rollBack } from '../../../src/db/replica/apply/rollback.ts';
import { type ReplicaState, writeReplicaState } from '../../../src/db/replica/state.ts';
import { hasCode } from '../../../src/errors.ts';
import type { SourceStatus } from '../../../src/sync/client/source-client.ts';
import type { Subscription } from '../../../src/sync/client/subscription.ts';
import { SourceBackoff } from '../parts/backoff.ts';
import { canUndo, markMissing } from '../parts/doubt.ts';
import { heedLearned } from '../parts/learned.ts';
import { restoreTables } from '../parts/missing-tables.ts';
import type { Replica } from '../parts/replica.ts';
import { ReplicaLost } from '../parts/replica-lost.ts';
import type { SourceQuorum } from '../quorum/source-quorum.ts';
import { SinceCatchUp } from './since-catch-up.ts';
import { type Standing, TipExaminer } from './tip-examiner.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'stream' | 'halt' | 'commitment'>;

/** Blocks that came while a snapshot was applied are left to the live stream, unless there are more. */
const LIVE_BLOCKS = 100;
/** So long after a rollback a block of the new branch is waited for; then a comparison takes the place of its since-snapshot. */
const RECONCILE_PATIENCE_MS = 5_000;
/** Before a source is asked once more whether it left the replica's chain, where only loading the replica again would help. */
const ASK_AGAIN_MS = 5_000;
/** Between two since-snapshots that fail by themselves. */
const MAX_PAUSE_MS = 60_000;
/** Between two looks at a source that has nothing new yet. */
const IDLE_PAUSE_MS = 500;

const DEEP = 'by its first one, its chain leaves the replica further back than the undo journal leads';

/** Brings a replica that was away, or rolled back, to its source's tip; and back below a fork. */
export class ReplicaChain {
  readonly #replica: Parts;
  readonly #sourceQuorum: SourceQuorum;
  readonly #examiner: TipExaminer;
  readonly #since: SinceCatchUp;
  readonly #backoff: SourceBackoff;
  /** No table was missing when the source was asked for its schema. */
  #isWhole = false;
  /** The tip that the last rollback left. */
  #leftHeight = -1;

  constructor(replica: Parts, sourceQuorum: SourceQuorum) {
    this.#replica = replica;
    this.#sourceQuorum = sourceQuorum;
    this.#examiner = new TipExaminer(replica, sourceQuorum);
    this.#since = new SinceCatchUp(replica, sourceQuorum);
    this.#backoff = new SourceBackoff(replica, 'a since-snapshot', MAX_PAUSE_MS);
  }

  /**
   * Compares its tip with the source's chain, then applies since-snapshots until the live stream has what is missing. The stream
   * is open before it begins, so it tells every block above the first height that the source is asked for.
   *
   * @param reconcile after a rollback: not over until a since-snapshot with whole tables is applied; where the chain only became
   *   shorter, the replica follows without being complete until a comparison finds it equal
   */
  async catchUp(reconcile: boolean, signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#catchUp(reconcile, signal);
    } finally {
      this.#replica.progress.waiting(null);
    }
  }

  async #catchUp(reconcile: boolean, signal: AbortSignal): Promise<Outcome> {
    const { client: source } = this.#replica.sources;
    const subscription = await this.#replica.stream.subscription();
    await this.#replica.store.reloadState();
    if (!this.#isWhole || this.#replica.store.isTorn) await restoreTables(this.#replica, signal);
    this.#isWhole = true;
    await heedLearned(this.#replica, await subscription.learned(signal));
    let { state } = this.#replica.store;
    let mustReconcile = reconcile || state.phase === 'reconciling';
    const from = state.height ?? 0;
    const tip = { height: -1, since: 0 };
    /** The live stream tells every block above it. */
    let told: number | null = null;
    let isUntold = false;
    let isAskedAgain = false;
    for (let checked = false; ; ) {
      signal.throwIfAborted();
      const status = await source.status(signal);
      this.#replica.sources.standsAt(status.height);
      told ??= status.height;
      state = await this.#awaitSettled(state, status);
      if (status.height !== tip.height) Object.assign(tip, { height: status.height, since: performance.now() });
      if (!checked) {
        const examined = this.#withWord(await this.#examiner.examine(state, status, signal), status);
        if (typeof examined === 'object') {
          if (isAskedAgain || examined.kind !== 'forked' || (await canUndo(this.#replica, examined.height)))
            return examined;
          isAskedAgain = true;
          await this.#awaitSecondAnswer(examined.height, subscription, signal);
          continue;
        }
        isUntold = examined !== 'stands';
        checked = examined !== 'unsettled';
      }
      const own = state.height!;
      const missing = (status.height ?? own) - own;
      const isAwaited = mustReconcile || isUntold;
      const isTold = told !== null && own >= told && missing <= LIVE_BLOCKS;
      if (checked && missing > 0 && (isAwaited || !isTold)) {
        await this.#backoff.pause(signal);
        this.#replica.progress.waiting(`the since-snapshot of ${source.url} from block ${own + 1} on`);
        const kind = {
          isWhole: mustReconcile || state.phase === 'adopting',
          isShorter: mustReconcile && status.height! < this.#leftHeight
        };
        const verdict = await this.#backoff.attempt(() => this.#since.apply(state, status, kind, signal));
        this.#backoff.succeeded();
        if (verdict === 'halted') return { kind: 'halted' };
        state = await this.#replica.store.reloadState();
        // The source announced blocks that its snapshots lack so far, or it has left their branch.
        if (state.height === own) await subscription.pause(IDLE_PAUSE_MS, signal);
        else isUntold = false;
        if (verdict === 'other') checked = false;
        mustReconcile = state.phase === 'reconciling';
        const total = Math.max(1, own + missing - from);
        this.#replica.progress.percent = Math.floor((100 * (state.height! - from)) / total);
      } else if (isAwaited) {
        const isShorter = checked && !isUntold && missing === 0 && this.#isCompared;
        if (isShorter && performance.now() - tip.since > RECONCILE_PATIENCE_MS) {
          this.#replica.log.info({ height: own }, 'the chain became shorter: the replica is compared with its source');
          break;
        }
        this.#replica.progress.waiting(`${source.url} to send a block above ${own}`);
        await subscription.pause(IDLE_PAUSE_MS, signal);
        checked = false; // what comes may be another branch
      } else break;
      if (isUntold) this.#sourceQuorum.throwIfLeftBehind(status.height ?? -1, performance.now() - tip.since);
    }
    this.#replica.progress.percent = null;
    // One that is not complete misses what no message and no snapshot brought: a comparison finds it.
    if (state.phase !== 'following') {
      const misses = state.misses || (!state.complete && this.#isCompared);
      await writeReplicaState(this.#replica.store.writer, { complete: !misses, misses, phase: 'following' });
      state = await this.#replica.store.reloadState();
    }
    return { kind: 'done' };
  }

  /** Where a source has left the replica's chain, or stands below its tip, its message about that says how far back. */
  #withWord(examined: Outcome | Standing, { height }: SourceStatus): Outcome | Standing {
    const { store } = this.#replica;
    const { toldFork } = store;
    if (typeof examined === 'object' && examined.kind === 'forked')
      return { kind: 'forked', height: Math.min(examined.height, toldFork ?? examined.height) };
    if (toldFork !== null && height !== null && height <= toldFork) return { kind: 'forked', height: toldFork };
    if (examined === 'stands') store.toldFork = null;
    return examined;
  }

  /** One answer alone neither halts nor empties a replica. */
  async #awaitSecondAnswer(fork: number, subscription: Subscription, signal: AbortSignal): Promise<void> {
    const { url } = this.#replica.sources.client;
    this.#replica.log.warn({ fork: fork + 1 }, `${url} is asked once more: ${DEEP}`);
    this.#replica.progress.waiting(`a second answer of ${url}: ${DEEP}`);
    await subscription.pause(ASK_AGAIN_MS, signal);
  }

  /** A source that has not looked yet at what changed while it was away says when it has sent that: until then nothing is complete. */
  async #awaitSettled(state: ReplicaState, { settledHeight }: SourceStatus): Promise<ReplicaState> {
    if (
      !state.complete ||
      state.phase !== 'following' ||
      settledHeight === undefined ||
      (settledHeight ?? -1) >= state.height!
    )
      return state;
    await writeReplicaState(this.#replica.store.writer, { complete: false });
    return this.#replica.store.reloadState();
  }

  /** Its source offers digests, as far as is known. */
  get #isCompared(): boolean {
    return this.#replica.store.state.schemaFingerprint !== null && this.#replica.sources.followed.offersDigests;
  }

  /**
   * Undoes the groups above a height. `halted` when that is deeper than MAX_ROLLBACK_DEPTH; `lost` when the journal does not
   * reach: rows that the source's own rollback keeps or changes elsewhere would be missed then, so everything is loaded again.
   */
  async rollBack(height: number): Promise<Outcome> {
    const { writer, context } = this.#replica.store;
    const { data, log } = this.#replica;
    const state = await this.#replica.store.reloadState();
    const depth = state.height! - height;
    this.#leftHeight = state.height!;
    this.#replica.store.toldFork = null;
    this.#replica.progress.reorgs++;
    if (depth > data.maxRollbackDepth) {
      const limit = data.maxRollbackDepth;
      await markMissing(this.#replica);
      await this.#replica.halt.raise('max-rollback-depth-exceeded', height + 1, { depth, limit });
      return { kind: 'halted' };
    }
    const plan = await planRollback(writer, state.height!, height);
    if (plan === null) {
      refuseLoss(state, `its source's chain leaves it below block ${height + 1}`);
      log.warn({ height }, 'the fork is below the undo journal: bootstrapping the replica again');
      return { kind: 'lost' };
    }
    if (plan.groups.length > 0) {
      try {
        await rollBack(writer, context, state, plan);
        await this.#replica.commitment?.rollBack(plan.height);
      } catch (caught) {
        // Rows that were repaired or changed by hand in between are not in the journal.
        throw hasCode(caught, 'ROW_CONTRADICTION') ? new ReplicaLost(caught) : caught;
      }
    } else await writeReplicaState(writer, { complete: false, phase: 'reconciling' });
    await this.#replica.store.reloadState();
    log.info({ fork: height + 1, height: plan.height, groups: plan.groups.length }, 'rolled back');
    return { kind: 'done' };
  }
}
