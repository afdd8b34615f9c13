import assert from 'node:assert/strict';
import type { BlockHashes, ChainBlock } from '../../src/indexer/block/block.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { dumpTables } from '../../test/support/indexer-database.ts';
import { CHAIN_RULES, EVERY_KIND, GAS_RULES, LOW_LIMITS, risingRules } from './chain.ts';
import { Random } from './random.ts';
import { ReferenceRun } from './run.ts';
import { TRADES } from './trades.ts';

interface CheckOptions {
  readonly seed: number;
  /** Blocks of the final chain. */
  readonly blocks: number;
  /** Branches that are indexed and taken back. */
  readonly forks: number;
  /** Whether actions cost gas. */
  readonly costsGas?: boolean;
  /** Whether most actions are about offers. Then the index with reorgs restarts now and then, and discards prepared blocks. */
  readonly isOfTrades?: boolean;
  /** Whether the limits are so low that many blocks meet them. The reference, which has none, is left out. */
  readonly isLimited?: boolean;
  /** Whether rules begin in the course of the chain; it restarts then, too. The reference, which knows all of them only, is left out. */
  readonly isRising?: boolean;
  readonly databases: { readonly forked: DatabaseCoordinates; readonly fresh: DatabaseCoordinates };
  readonly log?: (line: string) => void;
}

interface CheckResult {
  readonly actions: number;
  readonly lostBlocks: number;
  /** Times that the index with reorgs was closed and opened again. */
  readonly restarts: number;
  /** Rows compared, of all tables. */
  readonly rows: number;
  /** Number of times that each status was written, by table and text. */
  readonly statuses: ReadonlyMap<string, number>;
}

const STATEMENT_LIMIT_S = 120;
const MOST_LOST_BLOCKS = 6;
const BLOCKS_PER_GROUP = 200;
const PROGRESS_BLOCKS = 1_000;
/** Chances to restart an index for each time that it is restarted. */
const RESTART_CHANCES = 4;
/** Chances to prepare blocks and discard them for each time that it is done. */
const DISCARD_CHANCES = 2;

/**
 * Indexes one chain through reorgs, in one go, and with the ledger that is written from the document.
 *
 * @throws {AssertionError} at the first block or table that differs
 */
export async function checkIndex(options: CheckOptions): Promise<CheckResult> {
  const { seed, blocks, forks, databases, isOfTrades = false, log } = options;
  const { costsGas = false, isLimited = false, isRising = false } = options;
  const gasRules = costsGas ? GAS_RULES : CHAIN_RULES;
  const limited = isLimited ? { ...gasRules, limitsAt: () => LOW_LIMITS } : gasRules;
  const rules = isRising ? risingRules(limited, blocks) : limited;
  const open = (database: DatabaseCoordinates) => IndexerStore.open(database, rules, STATEMENT_LIMIT_S);
  const hasReference = !isLimited && !isRising;
  const run = new ReferenceRun(seed, rules, { kind: isOfTrades ? TRADES : EVERY_KIND, hasReference });
  const openForked = () => open(databases.forked);
  const forked = new ForkedIndex(seed, await openForked(), run, isOfTrades || isRising ? openForked : null);
  try {
    for (let height = 0; height < blocks; height++) {
      const due = Math.floor(((height + 1) * forks) / blocks) - Math.floor((height * forks) / blocks);
      for (let fork = 0; fork < due; fork++) await forked.loseBranch();
      await forked.extend();
      if ((height + 1) % PROGRESS_BLOCKS === 0) log?.(`${height + 1} blocks`);
    }
    await forked.flush();
    run.compareHoldings();
  } finally {
    forked.close();
  }
  const fresh = await open(databases.fresh);
  try {
    let writing: Promise<unknown> = Promise.resolve();
    for (let at = 0, count = 0; at < run.chain.length; at += count) {
      const blocks = run.chain.slice(at, at + BLOCKS_PER_GROUP);
      const prepared = fresh.prepare(blocks); // beside the writing of those before
      const [{ executed }] = await Promise.all([prepared, writing]);
      count = executed.length;
      const hashes = executed.map((block) => block.hashes);
      assert.deepEqual(hashes, run.hashes.slice(at, at + count), `fresh index, blocks from ${at}`);
      writing = fresh.addBlocks(blocks, run.chain.length, prepared);
      writing.catch(() => undefined); // told where it is waited for
    }
    await writing;
  } finally {
    fresh.close();
  }
  const rows = await compareTables(databases);
  const { lostBlocks, restarts } = forked;
  return { actions: run.actions, lostBlocks, restarts, rows, statuses: run.statuses };
}

/** An index that goes through reorgs, and may restart, on its way along a chain. */
class ForkedIndex {
  lostBlocks = 0;
  restarts = 0;
  readonly #random: Random;
  /** Decides apart, so that the chain of a seed does not depend on it. */
  readonly #cuts: Random;
  /** Decides apart, too. */
  readonly #restarts: Random;
  #store: IndexerStore;
  readonly #run: ReferenceRun;
  /** Opens the database again; null for an index that never restarts. */
  readonly #reopen: (() => Promise<IndexerStore>) | null;
  /** Blocks of the chain that are not yet written. */
  #unwritten: ChainBlock[] = [];
  /** Newest blocks of the chain that were written together. */
  #newest: readonly ChainBlock[] = [];

  constructor(seed: number, store: IndexerStore, run: ReferenceRun, reopen: (() => Promise<IndexerStore>) | null) {
    this.#random = new Random(seed);
    this.#cuts = new Random(seed);
    this.#restarts = new Random(seed);
    this.#store = store;
    this.#run = run;
    this.#reopen = reopen;
  }

  /** Adds a block to the chain that stays. */
  async extend(): Promise<void> {
    this.#unwritten.push(this.#run.extend());
    if (this.#random.below(8) === 0) await this.flush();
  }

  /** Indexes blocks above the chain and takes them back. */
  async loseBranch(): Promise<void> {
    await this.flush();
    await this.#cutNewest();
    const branch = this.#run.branch(1 + this.#random.below(MOST_LOST_BLOCKS));
    this.lostBlocks += branch.length;
    await this.#addFirst(branch);
    await this.#mayRestart();
    if (branch.length > 1) await this.#store.addBlocks(branch.slice(1));
    await this.#rollBack(branch[0]!.height);
  }

  /**
   * Indexes the first block of a branch. Now and then the others are prepared meanwhile, as in a catch-up, and are then
   * discarded.
   */
  async #addFirst(branch: readonly ChainBlock[]): Promise<void> {
    const [first, others] = [branch.slice(0, 1), branch.slice(1)];
    if (others.length === 0 || this.#reopen === null || this.#restarts.below(DISCARD_CHANCES) > 0) {
      await this.#store.addBlocks(first);
      return;
    }
    const prepared = this.#store.prepare(first);
    await prepared;
    await Promise.all([this.#store.addBlocks(first, first[0]!.height, prepared), this.#store.prepare(others)]);
    await this.#store.discard();
  }

  async flush(): Promise<void> {
    if (this.#unwritten.length === 0) return;
    await this.#add(this.#unwritten);
    [this.#newest, this.#unwritten] = [this.#unwritten, []];
  }

  /** Takes back the end of the newest group for other blocks, then more of the group, and indexes that again. */
  async #cutNewest(): Promise<void> {
    if (this.#newest.length < 2) return;
    const cut = 1 + this.#cuts.below(this.#newest.length - 1);
    const { height } = this.#newest[cut]!;
    await this.#rollBack(height);
    await this.#store.addBlocks(this.#run.branchAt(height, 1 + this.#cuts.below(2)));
    const again = this.#newest.slice(this.#cuts.below(cut));
    await this.#rollBack(again[0]!.height);
    await this.#add(again);
  }

  /** Takes back blocks; it may restart before and after. */
  async #rollBack(height: number): Promise<void> {
    await this.#mayRestart();
    await this.#store.rollBack(height);
    await this.#mayRestart();
  }

  async #mayRestart(): Promise<void> {
    if (this.#reopen === null || this.#restarts.below(RESTART_CHANCES) > 0) return;
    this.#store.close();
    this.#store = await this.#reopen();
    this.restarts += 1;
  }

  /** Indexes the blocks that follow, up to the end of the chain. */
  async #add(blocks: readonly ChainBlock[]): Promise<void> {
    const first = blocks[0]!.height;
    const hashes: BlockHashes[] = [];
    // One call writes as many blocks as its time allows, at least one.
    while (hashes.length < blocks.length) hashes.push(...(await this.#store.addBlocks(blocks.slice(hashes.length))));
    assert.deepEqual(hashes, this.#run.hashes.slice(first), `index with reorgs, blocks from ${first}`);
    await this.#mayRestart();
  }

  close(): void {
    this.#store.close();
  }
}

/** @returns the number of rows of one of them */
async function compareTables({ forked, fresh }: CheckOptions['databases']): Promise<number> {
  let count = 0;
  const freshTables = dumpTables(fresh);
  for await (const [table, rows] of dumpTables(forked)) {
    const { value } = await freshTables.next();
    const different = rows.findIndex((row, place) => row !== value?.[1][place]);
    assert.equal(rows[different], value?.[1][different], `${table} differs`);
    assert.equal(rows.length, value?.[1].length, `${table} differs`);
    count += rows.length;
  }
  return count;
}
