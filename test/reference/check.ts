import assert from 'node:assert/strict';
import type { BlockHashes, ChainBlock, ExecutedBlock } from '../../src/indexer/block/block.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { dumpTables } from '../support/indexer-database.ts';
import { MemoryLedger } from '../support/indexer-ledger.ts';
import { CHAIN_RULES, ChainMaker } from './chain.ts';
import { Random } from './random.ts';
import type { RecentAction } from './texts.ts';

export interface CheckOptions {
  readonly seed: number;
  /** Of the final chain. */
  readonly blocks: number;
  /** Branches that are indexed and taken back. */
  readonly forks: number;
  readonly databases: { readonly forked: DatabaseCoordinates; readonly fresh: DatabaseCoordinates };
  readonly log?: (line: string) => void;
}

export interface CheckResult {
  readonly actions: number;
  readonly lostBlocks: number;
  /** Rows compared, of all tables. */
  readonly rows: number;
  /** How often a part of an action got each status. */
  readonly statuses: ReadonlyMap<string, number>;
}

const STATEMENT_LIMIT_S = 120;
const MOST_LOST_BLOCKS = 6;
const BLOCKS_PER_GROUP = 200;
/** Actions that a text may be about. */
const RECENT_ACTIONS = 150;
const PROGRESS_BLOCKS = 1_000;

/**
 * Indexes one chain twice: through reorgs block by block, and in one go.
 *
 * @throws {AssertionError} at the first block whose hashes differ from those of a ledger in memory, or the first table whose rows differ
 */
export async function checkIndex({ seed, blocks, forks, databases, log }: CheckOptions): Promise<CheckResult> {
  const open = (database: DatabaseCoordinates) => IndexerStore.open(database, CHAIN_RULES, STATEMENT_LIMIT_S);
  const run = new IndexRun(seed, await open(databases.forked));
  try {
    for (let height = 0; height < blocks; height++) {
      const due = Math.floor(((height + 1) * forks) / blocks) - Math.floor((height * forks) / blocks);
      for (let fork = 0; fork < due; fork++) await run.loseBranch(height);
      await run.extend(height);
      if ((height + 1) % PROGRESS_BLOCKS === 0) log?.(`${height + 1} blocks`);
    }
    await run.flush();
  } finally {
    run.store.close();
  }
  const fresh = await open(databases.fresh);
  try {
    for (let at = 0; at < run.chain.length; at += BLOCKS_PER_GROUP) {
      const hashes = await fresh.addBlocks(run.chain.slice(at, at + BLOCKS_PER_GROUP));
      assert.deepEqual(hashes, run.hashes.slice(at, at + BLOCKS_PER_GROUP), `fresh index, blocks from ${at}`);
    }
  } finally {
    fresh.close();
  }
  const rows = await compareTables(databases);
  return { actions: run.actions, lostBlocks: run.lostBlocks, rows, statuses: run.statuses };
}

/** An index that goes through reorgs, and the chain that is left in the end. */
class IndexRun {
  readonly chain: ChainBlock[] = [];
  readonly hashes: BlockHashes[] = [];
  readonly statuses = new Map<string, number>();
  readonly store: IndexerStore;
  lostBlocks = 0;
  readonly #random: Random;
  readonly #maker: ChainMaker;
  readonly #memory = new MemoryLedger(0, CHAIN_RULES);
  #recent: RecentAction[] = [];
  /** Blocks of the chain that are not yet written. */
  #unwritten: ChainBlock[] = [];

  constructor(seed: number, store: IndexerStore) {
    this.#random = new Random(seed);
    this.#maker = new ChainMaker(seed);
    this.store = store;
  }

  get actions(): number {
    return this.#memory.lastAction;
  }

  /** Adds a block to the chain that stays. */
  async extend(height: number): Promise<void> {
    const block = this.#maker.block({ height, recent: this.#recent });
    const executed = this.#memory.run(block);
    this.chain.push(block);
    this.hashes.push(executed.hashes);
    this.#unwritten.push(block);
    this.#remember(executed);
    if (this.#random.below(8) === 0) await this.flush();
  }

  /** Indexes blocks from a height on and takes them back. */
  async loseBranch(height: number): Promise<void> {
    await this.flush();
    const count = 1 + this.#random.below(MOST_LOST_BLOCKS);
    const branch = Array.from({ length: count }, (_, above) =>
      this.#maker.block({ height: height + above, recent: this.#recent })
    );
    this.lostBlocks += count;
    await this.store.addBlocks(branch.slice(0, 1));
    if (count > 1) await this.store.addBlocks(branch.slice(1));
    await this.store.rollBack(height);
  }

  async flush(): Promise<void> {
    if (this.#unwritten.length === 0) return;
    const hashes = await this.store.addBlocks(this.#unwritten);
    const first = this.#unwritten[0]!.height;
    assert.deepEqual(hashes, this.hashes.slice(first), `index with reorgs, blocks from ${first}`);
    this.#unwritten = [];
  }

  #remember({ rows }: ExecutedBlock): void {
    const recent = rows.flatMap(({ table, columns }): RecentAction[] => {
      if (table !== 'actions') return [];
      const source = this.#memory.view.get('address', String(columns['source_id']));
      return [{ index: Number(columns['action_index']), name: String(columns['action_id']), source: source ?? '' }];
    });
    this.#recent = [...this.#recent, ...recent].slice(-RECENT_ACTIONS);
    for (const { columns } of rows) {
      const status = columns['status_id'];
      if (typeof status === 'string') this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    }
  }
}

/** @returns the number of rows of one of them */
async function compareTables({ forked, fresh }: CheckOptions['databases']): Promise<number> {
  let count = 0;
  const theirs = dumpTables(fresh);
  for await (const [table, rows] of dumpTables(forked)) {
    const { value } = await theirs.next();
    const different = rows.findIndex((row, place) => row !== value?.[1][place]);
    assert.equal(rows[different], value?.[1][different], `${table} differs`);
    assert.equal(rows.length, value?.[1].length, `${table} differs`);
    count += rows.length;
  }
  return count;
}
