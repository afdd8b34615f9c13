import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { computeTops } from '../../src/consensus/balance-tree.ts';
import { CommitmentHashes } from '../../src/consensus/commitment-hashes.ts';
import type { Random } from '../../src/devnet/random.ts';
import { hasCode } from '../../src/errors.ts';
import type { ChainBlock } from '../../src/indexer/block/block.ts';
import { IndexedBalances } from '../../src/indexer/loop/balances.ts';
import { TABLES } from '../../src/indexer/store/schema.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import { silentLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { CHAIN_RULES } from '../reference/chain.ts';
import { ReferenceRun } from '../reference/run.ts';
import { type Case, randomAt, type Step } from './plan.ts';
import type { CaseWriter } from './writer.ts';

const FIRST_BLOCKS = 130;
const DEEPEST_REORG = 25;
const STATEMENT_LIMIT_S = 60;
/** A killed indexer is cut off somewhere in this time. */
const CUT_WITHIN_MS = 40;
const OPEN_DEADLINE_MS = 30_000;
const DOMAIN = 'PLATFORM';
const NAMES = { chain: 'litecoin', network: 'regtest' } as const;

/**
 * Writes the history of one case as this project's indexer does, state roots included: real actions, carried out by the indexer,
 * which is cut off now and then. Each block's hashes, movements and balances must be those of the reference.
 */
export class LedgerWriter implements CaseWriter {
  readonly isLate = false;
  readonly tables = [...TABLES.keys()];
  readonly #database: DatabaseCoordinates;
  readonly #random: Random;
  readonly #run: ReferenceRun;
  readonly #balances: IndexedBalances;
  #store!: IndexerStore;

  private constructor(of: Case, database: DatabaseCoordinates) {
    this.#database = database;
    this.#random = randomAt(of, 'ledger');
    this.#run = new ReferenceRun(this.#random.between(1, 2 ** 31));
    const hashes = new CommitmentHashes(DOMAIN);
    this.#balances = new IndexedBalances({
      names: NAMES,
      domain: DOMAIN,
      database,
      statementLimitS: STATEMENT_LIMIT_S,
      log: silentLogger,
      inspect: () => undefined,
      computeTops: async (batch) => {
        computeTops(hashes, batch);
        return batch;
      },
      changed: () => undefined
    });
  }

  static async open(of: Case, source: DatabaseCoordinates): Promise<LedgerWriter> {
    const writer = new LedgerWriter(of, source);
    await writer.#open();
    await writer.#add(writer.#extend(FIRST_BLOCKS));
    await writer.#balances.rest(writer.height);
    return writer;
  }

  get height(): number {
    return this.#run.chain.length - 1;
  }

  async close(): Promise<void> {
    this.#store.close();
    this.#balances.discard('the case has ended');
    this.#run.compareHoldings();
  }

  async write(
    step: Extract<Step, { kind: 'blocks' | 'reorg' | 'alter' }>,
    whileHeld: () => Promise<void> = async () => undefined
  ): Promise<void> {
    if (step.kind === 'alter') return; // an indexer alters its tables at a start alone
    if (step.kind === 'reorg') {
      const lost = this.#run.branch(Math.min(step.depth, DEEPEST_REORG));
      await this.#addInGroups(lost, step.apart ? 1 : lost.length);
      await this.#store.rollBack(lost[0]!.height);
      await this.#addInGroups(this.#extend(step.count), step.apart ? 1 : step.count);
    } else {
      const blocks = this.#extend(step.count);
      if (step.how === 'held') await whileHeld();
      if (step.how === 'late') await this.#addCutOff(blocks);
      else await this.#addInGroups(blocks, step.how === 'one' ? 1 : step.count);
    }
    await this.#balances.rest(this.height);
  }

  #extend(count: number): ChainBlock[] {
    return Array.from({ length: count }, () => this.#run.extend());
  }

  async #addInGroups(blocks: readonly ChainBlock[], size: number): Promise<void> {
    for (let at = 0; at < blocks.length; at += size) await this.#add(blocks.slice(at, at + size));
  }

  async #add(blocks: readonly ChainBlock[]): Promise<void> {
    if (blocks.length === 0) return;
    const hashes = await this.#store.addBlocks(blocks);
    for (const [place, { height, hash }] of blocks.entries())
      if (this.#run.chain[height]?.hash === hash) assert.deepEqual(hashes[place], this.#run.hashes[height]);
  }

  /** Its connection ends while it writes: it opens another and goes on from what is there. */
  async #addCutOff(blocks: readonly ChainBlock[]): Promise<void> {
    const store = this.#store;
    const writing = store.addBlocks(blocks).then(
      () => undefined,
      () => undefined // cut off
    );
    await sleep(this.#random.between(0, CUT_WITHIN_MS));
    store.close();
    await writing;
    await this.#open();
    const [tip] = await this.#store.readNewest(1);
    await this.#add(blocks.filter(({ height }) => height > tip!.height));
  }

  async #open(): Promise<void> {
    for (const deadline = Date.now() + OPEN_DEADLINE_MS; ; await sleep(100)) {
      try {
        const roots = { names: NAMES, balances: this.#balances };
        this.#store = await IndexerStore.open(this.#database, CHAIN_RULES, STATEMENT_LIMIT_S, { roots });
        return;
      } catch (caught) {
        // The lock of the one before is held until the server has seen its end.
        if (!hasCode(caught, 'DATABASE_UNAVAILABLE') || Date.now() > deadline) throw caught;
      }
    }
  }
}
