import type { Connection } from '../../db/connection.ts';
import { hasCode } from '../../errors.ts';
import type { StateCommitment } from '../../wire/state/report.ts';
import type { SourceActorData } from '../protocol.ts';
import type { GroupBlock } from '../source/reading/group-block.ts';
import type { SourceMemory } from '../source/reading/memory.ts';
import { readLayout, type SourceLayout } from '../tables/source-layout.ts';
import type { BalanceKey } from '../tables/state-reader.ts';
import { findStateTables, readBlockRoot, readLeaves } from '../tables/state-reader.ts';
import { GROUP_LEAVES_MAX, StateTracker, type TrackerOptions } from './state-tracker.ts';

interface SourceRootsOptions extends Omit<TrackerOptions, 'names'> {
  readonly data: Pick<SourceActorData, 'id' | 'localTables' | 'stateDomain'>;
  readonly open: () => Promise<Connection>;
}

/** Time between two polls for groups that waited for the first tree: the next block must not wait for them. */
const DRAIN_MS = 25;

/** Computes the state roots of an indexer whose own tables do not carry them, at the last block of each group. */
export class SourceRoots {
  readonly #options: SourceRootsOptions;
  readonly #tracker: StateTracker;
  /** The block at which the balances differed from the broadcast ones: the next group carries the change. */
  #movedAt: number | null = null;

  constructor(options: SourceRootsOptions) {
    this.#options = options;
    this.#tracker = new StateTracker({ ...options, names: options.data.id });
  }

  /** Returns null where no roots are computed: no domain is set, or the database has no ledger. */
  static of(options: Omit<SourceRootsOptions, 'domain'>): SourceRoots | null {
    const { id, stateDomain: domain } = options.data;
    return domain === null || id.dbType !== 'indexer' ? null : new SourceRoots({ ...options, domain });
  }

  get report(): StateCommitment {
    return this.#tracker.report;
  }

  /**
   * Begins the first tree, from a read of exactly what was broadcast, and applies the groups that waited for it; called between two
   * groups.
   */
  async rest(memory: SourceMemory): Promise<void> {
    await this.#tracker.drain(DRAIN_MS);
    if (!this.#tracker.isWanted || memory.height === this.#movedAt) return;
    const connection = await this.#options.open();
    try {
      await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
      const { dbType } = this.#options.data.id;
      const layout = await readLayout(connection, dbType, this.#options.data.localTables);
      const plan = layout.plans.find(({ name }) => name === 'balances');
      if (layout.heads?.commitments.includes('balances_root'))
        this.#tracker.refuse('off', 'the source says the roots itself');
      else if (plan?.engine !== 'InnoDB' || !findStateTables(layout.plans, layout.tables).hasBalances)
        this.#tracker.refuse('unsupported', 'the tables are not as a balance tree needs them');
      else if (await memory.holds(connection, plan)) {
        return this.#tracker.begin(connection, memory.height);
      } else this.#movedAt = memory.height;
      connection.destroy();
    } catch (caught) {
      connection.destroy();
      throw caught;
    }
  }

  /**
   * Returns the last block of a group with the roots after it; those that its own tables carry stay.
   *
   * @param connection in the snapshot of the group's read
   */
  async complete(connection: Connection, block: GroupBlock): Promise<GroupBlock> {
    const { commitments } = block.head;
    const carried = block.layout.heads?.commitments ?? [];
    const balances_root = carried.includes('balances_root')
      ? commitments!.balances_root
      : await this.#balancesRoot(connection, block);
    const block_merkle_root = carried.includes('block_merkle_root')
      ? commitments!.block_merkle_root
      : await this.#blockRoot(connection, block);
    return { ...block, head: { ...block.head, commitments: { ...commitments!, balances_root, block_merkle_root } } };
  }

  /** Takes in balances that an amendment of the last block brings. @param connection in the snapshot of that block */
  async amend(
    connection: Connection,
    layout: SourceLayout,
    height: number,
    change: { readonly keys: ReadonlySet<string> | null } | undefined
  ): Promise<void> {
    if (!change || !this.#tracker.isFollowing) return;
    await this.#advance(connection, layout, { base: height, last: height }, change.keys);
    await this.#tracker.settle(true);
  }

  /** @param isBroadcast false: the group will be read again */
  settle(isBroadcast: boolean): Promise<void> {
    return this.#tracker.settle(isBroadcast);
  }

  /** @param fork the first orphaned height */
  rollBack(fork: number): Promise<void> {
    return this.#tracker.rollBack(fork - 1);
  }

  async #balancesRoot(connection: Connection, { group, changes, layout }: GroupBlock): Promise<string | null> {
    if (!this.#tracker.isFollowing) return null;
    const span = { base: group.first - 1, last: group.last };
    const change = changes?.tables.get('balances');
    return this.#advance(connection, layout, span, change ? change.keys : new Set());
  }

  /** @param touched null: not known */
  async #advance(
    connection: Connection,
    layout: SourceLayout,
    span: { readonly base: number; readonly last: number },
    touched: ReadonlySet<string> | null
  ): Promise<string | null> {
    if (!touched || touched.size > GROUP_LEAVES_MAX) return this.#tracker.advance(span, null, null);
    const { identity } = layout.plans.find(({ name }) => name === 'balances')!;
    const at = ['address_id', 'tick_id'].map((name) => identity!.indexOf(name));
    const keys = Array.from(touched, (text): BalanceKey => {
      const values = JSON.parse(text) as unknown[];
      return [String(values[at[0]!]), String(values[at[1]!])];
    });
    try {
      const leaves = await readLeaves(connection, this.#tracker.hashes, this.#options.data.id, keys);
      return await this.#tracker.advance(span, leaves, null);
    } catch (caught) {
      if (!hasCode(caught, 'STATE_UNENCODABLE')) throw caught;
      this.#tracker.refuse('failed', caught.message);
      return null;
    }
  }

  async #blockRoot(connection: Connection, { layout, head }: GroupBlock): Promise<string | null> {
    const { block } = findStateTables(layout.plans, layout.tables);
    if (!block) return null;
    try {
      return await readBlockRoot(connection, this.#tracker.hashes, block, head.height);
    } catch (caught) {
      if (!hasCode(caught, 'STATE_UNENCODABLE')) throw caught;
      this.#options.log.error(`block ${head.height} has no root: ${caught.message}`);
      return null;
    }
  }
}
