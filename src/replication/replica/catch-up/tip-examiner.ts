import type { Outcome } from '../../../../machines/sync/replica.ts';
import type { SourceStatus } from '../../client/source-client.ts';
import { readGroupsAbove } from '../apply/undo-journal.ts';
import type { ReplicaState } from '../database/state.ts';
import { ownHashes } from '../parts/own-hashes.ts';
import type { Replica } from '../parts/replica.ts';
import { SourceHeads } from '../quorum/heads.ts';
import type { SourceQuorum } from '../quorum/source-quorum.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources'>;

/** Result for a tip that need not be left. */
export type TipState = 'stands' | 'unnamed' | 'unsettled';

/** Finds out whether a replica that was away still stands on its source's chain. */
export class TipExaminer {
  readonly #replica: Parts;
  readonly #sourceQuorum: SourceQuorum;

  constructor(replica: Parts, sourceQuorum: SourceQuorum) {
    this.#replica = replica;
    this.#sourceQuorum = sourceQuorum;
  }

  /**
   * Returns whether the replica's tip stands: on the chain of the followed source, and for the majority of all sources.
   * Where the others have passed it and cannot name it, the followed source's chain counts, if a majority names the
   * block where it ends.
   *
   * @returns where it leads when it does not stand; `unnamed`: it does if the block that a catch-up ends at is agreed on;
   *   `unsettled`: the source that is followed has left it, and nobody names where that one stands now
   */
  async examine(state: ReplicaState, status: SourceStatus, signal: AbortSignal): Promise<Outcome | TipState> {
    const heads = new SourceHeads(this.#replica, (height) => ownHashes(this.#replica, height), status, signal);
    const fork = await this.#findFork(state, status, heads);
    if (fork === null && !this.#sourceQuorum.isActive) return 'stands';
    const at = fork === null ? state.height! : Math.min(state.height!, status.height!);
    const own = await ownHashes(this.#replica, at);
    if (own === null) return fork === null ? 'stands' : { kind: 'forked', height: fork };
    const followed = { reported: status.height === at ? status.hashes : null, hasBlock: fork === null };
    let verdict = await this.#sourceQuorum.confirmOwnBlock(at, own, followed, signal);
    if (verdict === 'unnamed') {
      if (fork === null) return 'unnamed';
      verdict = await this.#sourceQuorum.confirm(status.height!, status.hashes, signal);
      if (verdict === 'other' || verdict === 'unnamed') return 'unsettled';
      if (verdict === 'agreed') return { kind: 'forked', height: fork };
    }
    if (verdict === 'halted') return { kind: 'halted' };
    return verdict === 'agreed' ? 'stands' : { kind: 'forked', height: fork ?? at - 1 };
  }

  /** @returns the highest height that both chains share when the replica's tip is not on the source's chain; else null */
  async #findFork(state: ReplicaState, status: SourceStatus, heads: SourceHeads): Promise<number | null> {
    const tip = state.height!;
    if (status.height === null) return null;
    const at = Math.min(tip, status.height);
    // A marker above the rows is as far from the source's chain as rows of another branch are.
    const isMissing = !this.#replica.store.context.schema.only && (await ownHashes(this.#replica, at)) === null;
    if (!isMissing && (await heads.isShared(at)) !== false) return null;
    this.#replica.log.warn({ block: at }, `hash chain discontinuity at block ${at + 1}`);
    const bases = (await readGroupsAbove(this.#replica.store.writer, -1)).map(({ base }) => base.height);
    const candidates = bases.filter((height) => height < at);
    // Newest first; chains that agree at a height agree below it. Where the source does not tell, it is not shared.
    let [low, high] = [0, candidates.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((await heads.isShared(candidates[middle]!)) === true) high = middle;
      else low = middle + 1;
    }
    return candidates[low] ?? (candidates.at(-1) ?? at) - 1;
  }
}
