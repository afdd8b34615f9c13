import { hasCode } from '../../../errors.ts';
import { count } from '../../../observe/counters.ts';
import { isInPart } from '../../../wire/data/digest.ts';
import type { Different, Equal } from '../compare/comparison.ts';
import { repair } from '../compare/repair.ts';
import { type ReplicaState, writeReplicaState } from '../database/state.ts';
import { senderOf } from '../parts/lives.ts';
import type { Replica } from '../parts/replica.ts';
import { ReplicaLost } from '../parts/replica-lost.ts';
import type { ComparisonRun } from './comparison-run.ts';

type Parts = Pick<Replica, 'log' | 'store' | 'sources' | 'commitment'>;

/** Writes what comparisons found into the replica: its rows, and its marker. Each change is durable when its call returns. */
export class AuditMarker {
  readonly #replica: Parts;

  constructor(replica: Parts) {
    this.#replica = replica;
  }

  /** Marks the replica as incomplete, because rows differ, until its source has sent more or a comparison finds it equal. */
  async doubt(change: { readonly misses?: boolean } = {}): Promise<void> {
    const { state } = this.#replica.store;
    if (state.phase !== 'following' || (!state.complete && (change.misses ?? state.misses) === state.misses)) return;
    await this.#write({ complete: false, ...change });
  }

  /** Replaces the rows that differ. @throws {ReplicaLost} when they contradict others of the replica */
  async repair({ height, tables }: Different): Promise<void> {
    const { log, commitment } = this.#replica;
    const { writer, context } = this.#replica.store;
    const { client: source } = this.#replica.sources;
    try {
      await repair(writer, context, height, tables);
    } catch (caught) {
      throw hasCode(caught, 'ROW_CONTRADICTION') ? new ReplicaLost(caught) : caught;
    }
    commitment?.repaired(tables.map(({ table }) => table));
    count('digest.repaired', tables.length);
    for (const { table, surplus, missing, spans } of tables) {
      const facts = { table, height, ranges: spans.length, removed: surplus.length, added: missing.length };
      log.warn({ ...facts, source: source.url }, `table ${table} differed from its source: repaired`);
    }
    await this.#replica.store.reloadState();
  }

  /** Records the origin of the ids of an equal replica: all tables that are not named have those of this source. */
  async noteIds({ kind, ownIds }: Equal | Different, run: ComparisonRun): Promise<void> {
    const { state } = this.#replica.store;
    const { client: source } = this.#replica.sources;
    // What differs may be equal but for its ids, or is made so by a repair; blocks beside it may have dealt ids of their own.
    const isAsked = (table: string) => kind === 'equal' && isInPart(run.part, table) && run.ownIds.includes(table);
    const before = state.ids.own.filter((table) => !isAsked(table));
    const own = [...new Set([...before, ...ownIds])].sort();
    const ids = { source: kind === 'equal' ? source.url : state.ids.source, own };
    if (JSON.stringify(ids) === JSON.stringify(state.ids)) return;
    await this.#write({ ids });
    const tables = own.filter((table) => !state.ids.own.includes(table));
    if (tables.length > 0)
      this.#replica.log.info(
        { tables, source: source.url },
        'the AUTO_INCREMENT ids of these tables differ from the source and are kept'
      );
  }

  /**
   * Completes a replica that a message left incomplete, since it did not bring all that changed: now it is equal, or was when blocks
   * came that were applied since. Rows that those miss would have ended the comparison.
   */
  async settle(isAtRest: boolean): Promise<void> {
    const { state } = this.#replica.store;
    const { learned } = this.#replica.sources;
    if ((state.complete && !state.misses) || state.phase !== 'following') return;
    if (!isAtRest && !state.misses) return;
    const now = isAtRest ? { complete: true, settledHeight: state.height } : {};
    await this.#write({ ...now, misses: false, learned });
  }

  /** Notes that all tables are as the followed source has them at the replica's block, whichever source sent it. */
  async adopt(): Promise<void> {
    const { state } = this.#replica.store;
    const { source, life } = senderOf(this.#replica);
    if (state.phase === 'following' && (state.source !== source || state.life !== life))
      await this.#write({ source, life });
  }

  /** Records that all tables were found equal. @param at time of the comparison, ISO 8601 */
  async verify(verifiedHeight: number, at: string): Promise<void> {
    await writeReplicaState(this.#replica.store.writer, { verifiedHeight, verifiedAt: at, compared: null });
    // What the majority has is here without them.
    await this.#replica.store.dropOldTables();
    await this.#replica.store.reloadState();
  }

  /**
   * Asks for a since-snapshot with whole tables, if rows are missing: no comparison will say that none is.
   *
   * @returns whether one is needed
   */
  async reconcile(): Promise<boolean> {
    const { state } = this.#replica.store;
    if (!state.misses || state.phase !== 'following') return false;
    await this.#write({ phase: 'reconciling', misses: false });
    return true;
  }

  async #write(change: Partial<ReplicaState>): Promise<void> {
    const { store } = this.#replica;
    await writeReplicaState(store.writer, change);
    await store.reloadState();
  }
}
