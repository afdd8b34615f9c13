import type { Outcome } from '../../../../machines/sync/replica.ts';
import { hasCode } from '../../../errors.ts';
import { planRollback, rollBack } from '../apply/rollback.ts';
import { adoptLower } from '../bootstrap/adoption.ts';
import { phaseBack, writeReplicaState } from '../database/state.ts';
import { SourceBackoff } from '../parts/backoff.ts';
import { markMissing } from '../parts/doubt.ts';
import { heedLearned } from '../parts/learned.ts';
import { isOfOther } from '../parts/lives.ts';
import { restoreTables } from '../parts/missing-tables.ts';
import type { Replica } from '../parts/replica.ts';
import { ReplicaLost } from '../parts/replica-lost.ts';
import type { SourceQuorum } from '../quorum/source-quorum.ts';
import { CatchUp, type CatchUpParts } from './catch-up.ts';
import { SinceCatchUp } from './since-catch-up.ts';
import { TipExaminer } from './tip-examiner.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'stream' | 'halt' | 'commitment'>;

/** A replica that is behind again so soon after a catch-up was not live. */
const STEADY_MS = 10_000;
/** Longest pause between two since-snapshots that fail by themselves. */
const MAX_PAUSE_MS = 60_000;

/** Brings a replica that was away, or rolled back, to its source's tip; and back below a fork. */
export class ReplicaChain {
  readonly #replica: Parts;
  readonly #parts: Omit<CatchUpParts, 'subscription'>;
  /** No table was missing when the source was asked for its schema. */
  #isWhole = false;
  /** The tip that the last rollback left; above all blocks while it is not known, as after a restart. */
  #leftHeight = Number.POSITIVE_INFINITY;
  /** Catch-ups in a row after which it was soon behind again, and the end of the last one. */
  #rounds = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(replica: Parts, sourceQuorum: SourceQuorum) {
    this.#replica = replica;
    this.#parts = {
      replica,
      sourceQuorum,
      examiner: new TipExaminer(replica, sourceQuorum),
      since: new SinceCatchUp(replica, sourceQuorum),
      backoff: new SourceBackoff(replica, 'a since-snapshot', MAX_PAUSE_MS)
    };
  }

  /**
   * Compares its tip with the source's chain, then applies since-snapshots until the live stream has what is missing.
   *
   * @param reconcile after a rollback: not over until a since-snapshot with whole tables is applied; where the chain only became
   *   shorter, the replica follows without being complete until a comparison finds it equal
   * @param onNotResumed called before the source is asked for anything
   * @returns `resumed` when the source sends what followed the replica's block: nothing was asked then; `settling` when amendments of
   *   the last block are still to come by the live stream
   */
  async catchUp(reconcile: boolean, signal: AbortSignal, onNotResumed: () => void = () => undefined): Promise<Outcome> {
    this.#rounds = performance.now() - this.#endedAt < STEADY_MS ? this.#rounds + 1 : 0;
    try {
      return await this.#catchUp(reconcile, signal, onNotResumed);
    } finally {
      this.#endedAt = performance.now();
      this.#replica.progress.waiting(null);
    }
  }

  async #catchUp(reconcile: boolean, signal: AbortSignal, onNotResumed: () => void): Promise<Outcome> {
    const { stream } = this.#replica;
    let subscription = await stream.subscription();
    await this.#replica.store.reloadState();
    if (!this.#isWhole || this.#replica.store.isTorn) await restoreTables(this.#replica, signal);
    this.#isWhole = true;
    await heedLearned(this.#replica, await subscription.learned(signal));
    this.#replica.sources.lives = subscription.lives;
    if (stream.takeResumed()) {
      if (stream.canResume && !isOfOther(this.#replica)) {
        this.#replica.log.info({ height: this.#replica.store.state.height }, 'the stream goes on where it was cut');
        return { kind: 'resumed' };
      }
      stream.drop();
      subscription = await stream.subscription();
    }
    onNotResumed();
    const start = { reconcile, leftHeight: this.#leftHeight, rounds: this.#rounds };
    const catchUp = new CatchUp({ ...this.#parts, subscription }, start);
    return catchUp.run(signal);
  }

  /**
   * Undoes the groups above a height. `halted` when that is deeper than MAX_ROLLBACK_DEPTH; `lost` when the journal does not
   * reach: rows that the source's own rollback keeps or changes elsewhere would be missed then, so everything is loaded again. A replica
   * that is being adopted is cut back again, and compared whole in any case.
   */
  async rollBack(height: number, signal: AbortSignal): Promise<Outcome> {
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
      if (state.phase === 'adopting') {
        this.#replica.commitment?.forget('the adopted replica is cut back');
        await adoptLower(this.#replica, signal);
        return { kind: 'done' };
      }
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
    } else await writeReplicaState(writer, { complete: false, phase: phaseBack(state) });
    await this.#replica.store.reloadState();
    log.info({ fork: height + 1, height: plan.height, groups: plan.groups.length }, 'rolled back');
    return { kind: 'done' };
  }
}
