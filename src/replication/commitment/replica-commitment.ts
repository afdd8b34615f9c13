import type { BucketBatch } from '../../consensus/balance-tree.ts';
import { connect, type Statements, statementTag } from '../../db/connection.ts';
import { hasCode } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { StateCommitment } from '../../wire/state/report.ts';
import type { ReplicaActorData } from '../protocol.ts';
import type { ClaimedRoots, GroupExaminer } from '../replica/apply/block-writer.ts';
import { movesLeaves, type TouchedBalances } from '../replica/apply/touched-balances.ts';
import type { Span } from '../replica/database/heights.ts';
import type { ReplicaSchema } from '../replica/database/schema.ts';
import { type ReplicaState, readReplicaState } from '../replica/database/state.ts';
import { findStateTables, readBlockRoot, readLeaves, type StateTables } from '../tables/state-reader.ts';
import { compareRoots } from './followed-tree.ts';
import { GROUP_LEAVES_MAX, StateTracker, type TrackerOptions } from './state-tracker.ts';

const STATEMENT_LIMIT_S = 60;

interface ReplicaCommitmentOptions {
  readonly data: ReplicaActorData;
  /** COMMITMENT_DOMAIN. */
  readonly domain: string;
  readonly log: Logger;
  /** Sees the changes of state of the tree's machine. */
  readonly inspect: TrackerOptions['inspect'];
  readonly computeTops: (batch: BucketBatch) => Promise<BucketBatch>;
  readonly changed: () => void;
}

/** Computes the state roots of each group from the replica's own rows and compares them before the group is durable. */
export class ReplicaCommitment implements GroupExaminer {
  readonly #options: ReplicaCommitmentOptions;
  readonly #tracker: StateTracker;
  /** The root of a block that is not settled, where the replica's was another one. */
  #deferred: { readonly height: number; readonly sourceRoot: string } | null = null;

  constructor(options: ReplicaCommitmentOptions) {
    this.#options = options;
    this.#tracker = new StateTracker({ ...options, names: options.data.id });
  }

  /** Returns null where no roots are compared: no domain is set, or the database has no ledger. */
  static of(options: Omit<ReplicaCommitmentOptions, 'domain'>): ReplicaCommitment | null {
    const { id, stateDomain: domain } = options.data;
    return domain === null || id.dbType !== 'indexer' ? null : new ReplicaCommitment({ ...options, domain });
  }

  get report(): StateCommitment {
    return this.#tracker.report;
  }

  /** Compares what waited for the tree. @throws {PlatformError} STATE_ROOT_MISMATCH, of blocks that were applied before it was there */
  drain(): Promise<void> {
    return this.#tracker.drain();
  }

  /** Begins a first tree if there is none; called between two groups. */
  async begin(schema: ReplicaSchema, { height }: ReplicaState): Promise<void> {
    if (!this.#tracker.isWanted || height === null) return;
    if (!stateTables(schema).hasBalances) {
      this.#tracker.refuse('unsupported', 'the tables are not as a balance tree needs them');
      return;
    }
    const { coordinates, generation } = this.#options.data;
    const tag = statementTag(coordinates.name, generation);
    const connection = await connect(coordinates, { tag, statementLimitS: STATEMENT_LIMIT_S });
    try {
      await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
      if ((await readReplicaState(connection)).height === height) this.#tracker.begin(connection, height);
      else connection.destroy();
    } catch (caught) {
      connection.destroy();
      throw caught;
    }
  }

  async examine(
    connection: Statements,
    schema: ReplicaSchema,
    group: { readonly span: Span; readonly touched: TouchedBalances; readonly claimed: ClaimedRoots | null }
  ): Promise<void> {
    const { span, touched, claimed } = group;
    const theirBlock = claimed?.block_merkle_root ?? null;
    if (theirBlock !== null) await this.#compareBlock(connection, schema, span.last, theirBlock);
    const named = claimed?.balances_root ?? null;
    const sourceRoot = claimed?.isSettling ? null : named;
    if (claimed) this.#deferred = null;
    const ends = { base: span.first - 1, last: span.last };
    if (!this.#tracker.isFollowing) return;
    if (touched.renamed || touched.size > GROUP_LEAVES_MAX) {
      await this.#tracker.advance(ends, null, null);
      return;
    }
    try {
      await this.#tracker.drain();
      const leaves = await readLeaves(connection, this.#tracker.hashes, this.#options.data.id, touched.keys);
      const root = await this.#tracker.advance(ends, leaves, sourceRoot);
      if (claimed?.isSettling && named !== null && root !== null && root !== named.toLowerCase())
        this.#deferred = { height: span.last, sourceRoot: named };
    } catch (caught) {
      if (!hasCode(caught, 'STATE_UNENCODABLE')) throw caught;
      this.#tracker.refuse('failed', caught.message);
      compareRoots('balances_root', span.last, null, sourceRoot);
    }
  }

  /** Takes note that a block is settled: compares its root where it differed before. @throws {PlatformError} STATE_ROOT_MISMATCH */
  settled(height: number): void {
    const deferred = this.#deferred;
    this.#deferred = null;
    if (deferred?.height !== height) return;
    const { root } = this.#tracker;
    if (root !== null) compareRoots('balances_root', height, root, deferred.sourceRoot);
  }

  settle(committed: boolean): Promise<void> {
    return this.#tracker.settle(committed);
  }

  /** Rolls the tree back to a height, after the database. */
  rollBack(height: number): Promise<void> {
    return this.#tracker.rollBack(height);
  }

  /** Aligns the tree with the database, which was opened again at this height. */
  align(height: number | null): void {
    this.#tracker.align(height);
  }

  /** Takes note that rows of these tables were replaced outside of any group. */
  repaired(tables: readonly string[]): void {
    if (tables.some(movesLeaves)) this.#tracker.discard('balances or their names were repaired');
  }

  /** Discards the tree: the rows that it was made of are gone, or not to be trusted. */
  forget(reason: string): void {
    this.#tracker.discard(reason);
  }

  async #compareBlock(
    connection: Statements,
    schema: ReplicaSchema,
    height: number,
    sourceRoot: string
  ): Promise<void> {
    const { block } = stateTables(schema);
    if (!block) return;
    try {
      const replicaRoot = await readBlockRoot(connection, this.#tracker.hashes, block, height);
      // Of a block with rows of contracts nobody knows yet what the root is.
      if (replicaRoot !== null) compareRoots('block_merkle_root', height, replicaRoot, sourceRoot);
    } catch (caught) {
      if (!hasCode(caught, 'STATE_UNENCODABLE')) throw caught;
      this.#options.log.error({ err: caught }, caught.message);
      compareRoots('block_merkle_root', height, null, sourceRoot);
    }
  }
}

function stateTables({ tables, typed }: ReplicaSchema): StateTables {
  const plans = tables.map(({ plan }) => plan);
  return findStateTables(plans, [...typed.values()]);
}
