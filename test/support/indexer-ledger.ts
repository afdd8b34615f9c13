import { DEFAULT_LIMITS } from '../../src/coin/limits.ts';
import { DEFAULT_PROFILE, FEATURES } from '../../src/coin/profile.ts';
import { formatAmount, parseAmount } from '../../src/consensus/amount.ts';
import { CommitmentHashes } from '../../src/consensus/commitment-hashes.ts';
import { MEDIAN_BLOCKS } from '../../src/consensus/median-time.ts';
import { isBuilt } from '../../src/indexer/actions/handlers.ts';
import type { BlockHashes, ExecutedBlock } from '../../src/indexer/block/block.ts';
import { BlockExecution, timesOf } from '../../src/indexer/block/execution.ts';
import type { Rules } from '../../src/indexer/profile/rules.ts';
import { Effects } from '../../src/indexer/state/effects.ts';
import { pairKey, tickKey } from '../../src/indexer/state/keys.ts';
import type { Offer } from '../../src/indexer/state/offer.ts';
import { LOCKS, type Token } from '../../src/indexer/state/token.ts';
import { View } from '../../src/indexer/state/view.ts';

/** Rules of a Bitcoin regtest whose addresses are single capital letters. */
export const TEST_RULES: Rules = {
  coin: 'BTC',
  isRegtest: true,
  leastPayment: 546n * 10n ** 10n,
  gasTick: 'GAS',
  gasIssuer: undefined,
  rewardPool: 'E',
  stakeDelay: 2,
  unstakeCooldown: 3,
  hashes: new CommitmentHashes('PLATFORM'),
  roles: new Map(),
  fees: { gas: DEFAULT_PROFILE.gas, price: '0.00001', destination: undefined, donation: undefined },
  limitsAt: () => DEFAULT_LIMITS,
  isActive: (name) => isBuilt(name) || FEATURES.some((rule) => rule === name),
  readAddress: (text) => (/^[A-Z]$/.test(text) ? text : undefined)
};

/** A ledger that lives in memory alone. */
export class MemoryLedger {
  readonly view = new View({ isWhole: true });
  readonly blocks: ExecutedBlock[] = [];
  readonly #rules: Rules;
  #height: number;
  readonly times: number[] = [];
  /** Time of the next blocks, in epoch seconds. */
  time = 0;

  constructor(height = 100, rules = TEST_RULES) {
    this.#height = height;
    this.#rules = rules;
  }

  get height(): number {
    return this.#height;
  }

  set height(height: number) {
    this.#height = height;
  }

  /** A token with balances, as if issued long ago. */
  give(tick: string, decimals: number, owner: string, holdings: Readonly<Record<string, string>>): void {
    const effects = new Effects(this.view);
    const id = effects.nextNumber('ticker');
    const token: Token = {
      id,
      tick,
      owner,
      decimals,
      supply: 0n,
      maxSupply: 0n,
      maxMint: 0n,
      mintAddressMax: 0n,
      description: null,
      locks: Object.fromEntries(LOCKS.map((lock) => [lock, false])) as Token['locks'],
      callbackBlock: null,
      callbackTick: null,
      callbackAmount: null,
      allowList: null,
      blockList: null,
      mintStartBlock: 0,
      mintStopBlock: 0,
      actionIndex: 0,
      lastActionIndex: 0,
      escrowActionIndex: null
    };
    effects.setToken(token);
    effects.set('tick', String(id), tick);
    for (const [address, amount] of Object.entries(holdings)) effects.credit(token, address, parseAmount(amount)!);
    effects.settle(0);
    this.view.commit(effects.changes);
  }

  /** One block of one transaction each. @returns for each transaction the verdicts of its rows, in their order */
  act(...actions: readonly (readonly [source: string, data: string])[]): string[][] {
    return actions.map(([source, data]) => {
      const hash = String(this.blocks.length + 1).padStart(64, '0');
      const transactions = [{ hash, source, fee: null, data }];
      const executed = this.run({ height: this.#height, time: this.time, hash, transactions });
      return executed.rows.flatMap(({ table, columns }) =>
        'status_id' in columns && !table.endsWith('_statuses') ? [String(columns['status_id'])] : []
      );
    });
  }

  run(block: ExecutedBlock['block']): ExecutedBlock {
    const execution = new BlockExecution(this.view, this.#rules, block, timesOf([...this.times, block.time]));
    if (execution.advance() !== null) throw new Error('a whole view misses nothing');
    const executed = execution.finish(this.hashes);
    this.blocks.push(executed);
    this.times.push(block.time);
    return executed;
  }

  /** Forgets what blocks below the newest did: a long chain has more rows than fit into memory. */
  forgetBlocks(): void {
    this.blocks.splice(0, this.blocks.length - 1);
    this.times.splice(0, this.times.length - MEDIAN_BLOCKS);
  }

  get hashes(): BlockHashes | undefined {
    return this.blocks.at(-1)?.hashes;
  }

  /** Every offer that is live. */
  get offers(): Offer[] {
    const kinds = ['order', 'swap', 'dispenser', 'coinpay'] as const;
    return kinds.flatMap((kind) =>
      [...this.view.book.ofKind(kind)].flatMap((index) => this.view.get('offer', String(index)) ?? [])
    );
  }

  /** Index of the action last recorded. */
  get lastAction(): number {
    return this.view.get('counter', 'action');
  }

  balance(tick: string, address: string): string {
    return formatAmount(this.view.get('balance', pairKey(tick, address)));
  }

  /** All balances that are not zero, by token. */
  balances(): Map<string, bigint> {
    const { pairs } = this.view.takeChanged();
    return new Map([...pairs.keys()].map((pair) => [pair, this.view.get('balance', pair)]));
  }

  supply(tick: string): string {
    return formatAmount(this.view.get('token', tickKey(tick))?.supply ?? 0n);
  }
}
