import type { BlockHashes, ChainBlock, ExecutedBlock } from '../../src/indexer/block/block.ts';
import type { Offer } from '../../src/indexer/state/offer.ts';
import { MemoryLedger } from '../../test/support/indexer-ledger.ts';
import { CHAIN_RULES, ChainMaker, EVERY_KIND } from './chain.ts';
import { compareHoldings, compareWithReference } from './compare.ts';
import { ReferenceLedger } from './ledger.ts';
import type { RecentAction } from './texts.ts';

/** Actions that a text may be about. */
const RECENT_ACTIONS = 150;
/** Actions among which a text looks for an offer. */
const OFFER_ACTIONS = 1_000;
/** Lists that a text may name. */
const RECENT_LISTS = 12;

/**
 * A chain that grows block by block. The indexer carries each out in memory, the reference too, and both must agree. The
 * reference has no limits: without it, what the indexer does is only remembered.
 */
export class ReferenceRun {
  readonly chain: ChainBlock[] = [];
  readonly hashes: BlockHashes[] = [];
  /** Number of times that each status was written, by table and text. */
  readonly statuses = new Map<string, number>();
  /** Number of fees that were paid in the chain's coin. */
  feesInCoins = 0;
  readonly #maker: ChainMaker;
  /** Makes blocks beside the chain that leave those of `#maker` as they are. */
  readonly #others: ChainMaker;
  readonly #memory: MemoryLedger;
  readonly #reference: ReferenceLedger | null;
  #recent: RecentAction[] = [];
  #lists: number[] = [];

  constructor(seed: number, rules = CHAIN_RULES, { kind = EVERY_KIND, hasReference = true } = {}) {
    this.#maker = new ChainMaker(seed, rules.fees.destination, 'f', kind);
    this.#others = new ChainMaker(seed, rules.fees.destination, 'e', kind);
    this.#memory = new MemoryLedger(0, rules);
    const isAddress = (text: string, coin: string) => rules.readAddress(text, coin, 0) !== undefined;
    this.#reference = hasReference ? new ReferenceLedger({ ...rules, isAddress }) : null;
  }

  /** Actions that a text after the chain may be about. */
  get recent(): readonly RecentAction[] {
    return this.#recent;
  }

  get actions(): number {
    return this.#memory.lastAction;
  }

  /** Adds a block. @throws {AssertionError} where indexer and reference differ */
  extend(): ChainBlock {
    const block = this.#blockOf(this.#maker, this.chain.length);
    const executed = this.#memory.run(block);
    this.#memory.forgetBlocks();
    if (this.#reference) compareWithReference(this.#memory, executed, this.#reference);
    this.chain.push(block);
    this.hashes.push(executed.hashes);
    this.#remember(executed);
    return block;
  }

  /** Blocks that could follow the chain and do not. */
  branch(length: number): ChainBlock[] {
    return Array.from({ length }, (_, above) => this.#blockOf(this.#maker, this.chain.length + above));
  }

  /** Blocks from a height of the chain on that are none of it. */
  branchAt(height: number, length: number): ChainBlock[] {
    return Array.from({ length }, (_, above) => this.#blockOf(this.#others, height + above));
  }

  /** @throws {AssertionError} when somebody holds in the reference what the indexer does not know */
  compareHoldings(): void {
    if (this.#reference) compareHoldings(this.#memory, this.#reference);
  }

  #blockOf(maker: ChainMaker, height: number): ChainBlock {
    return maker.block({ height, recent: this.#recent, offers: () => this.#offers(), lists: this.#lists });
  }

  #offers(): readonly Offer[] {
    return this.#memory.offers.filter(({ index }) => index > this.actions - OFFER_ACTIONS);
  }

  #remember({ rows, refusals }: ExecutedBlock): void {
    for (const { table, status } of refusals) this.#count(`${table} ${status}`);
    const polls = new Set(
      rows.flatMap(({ table, columns }) =>
        table === 'polls' && columns['status_id'] === 'valid' ? [columns['action_index']] : []
      )
    );
    const recent = rows.flatMap(({ table, columns }): RecentAction[] => {
      if (table !== 'actions') return [];
      const source = this.#memory.view.get('address', String(columns['source_id']));
      const name = polls.has(columns['action_index']!) ? 'POLL' : String(columns['action_id']);
      return [{ index: Number(columns['action_index']), name, source: source ?? '' }];
    });
    this.#recent = [...this.#recent, ...recent].slice(-RECENT_ACTIONS);
    const lists = rows.flatMap(({ table, columns }) =>
      table === 'lists' && columns['type'] === '2' && columns['edit'] === null && columns['status_id'] === 'valid'
        ? [Number(columns['action_index'])]
        : []
    );
    this.#lists = [...this.#lists, ...lists].slice(-RECENT_LISTS);
    for (const { table, columns } of rows) {
      if (table === 'fees' && columns['native_coin_amount'] !== null) this.feesInCoins++;
      if (typeof columns['status_id'] !== 'string') continue;
      this.#count(`${table} ${columns['status_id']}`);
    }
  }

  #count(status: string): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}
