import { hasCode } from '../../errors.ts';
import { type PlannedPayment, planIssues, planPayment } from '../payments.ts';
import { createRandom } from '../random.ts';

/** The miner's next step: payments into the mempool, then perhaps a reorg, then one block. */
export interface Round {
  readonly payments: readonly PlannedPayment[];
  /** Blocks that a rival branch replaces; 0 in most rounds. */
  readonly reorgDepth: number;
  /** Pause before the round as a part of the mean block interval, from 0.5 to 1.5. */
  readonly pause: number;
}

/** The coin node as the miner uses it. */
export interface MinedNode {
  getHeight(): Promise<number>;
  /** Returns the wallet's addresses that payments come from; none before it is funded. */
  accounts(): Promise<readonly string[]>;
  /** Mines until each account has a coin. */
  fund(): Promise<void>;
  mineBlocks(count: number): Promise<void>;
  /** Mines a block whose reward goes to the wallet. */
  earn(): Promise<void>;
  /** Sends a payment to the mempool. @throws {PlatformError} NODE_REFUSED, also when the wallet has no coin left */
  pay(payment: PlannedPayment): Promise<void>;
  /** Replaces the last blocks by a branch that is one block longer. */
  reorg(depth: number): Promise<void>;
}

/** Height below which no coinbase may be spent. A funded wallet is a few blocks above it. */
export const FUNDING_BLOCKS = 101;
const REORG_ODDS = 1 / 25;
const EMPTY_BLOCK_ODDS = 1 / 6;
const MAX_REORG_DEPTH = 4;

/** Yields the miner's plan: endless, and the same for the same seed and accounts. */
export function* planRounds(seed: string, accounts: readonly string[]): Generator<Round, never> {
  const random = createRandom(`miner ${seed}`);
  const issues = planIssues(accounts);
  for (;;) {
    const payments = random.next() < EMPTY_BLOCK_ODDS ? 0 : random.between(1, 3);
    yield {
      payments: Array.from({ length: payments }, () => issues.shift() ?? planPayment(random, accounts)),
      reorgDepth: random.next() < REORG_ODDS ? random.between(1, MAX_REORG_DEPTH) : 0,
      pause: 0.5 + random.next()
    };
  }
}

/** Gives the wallet coins unless an earlier start did. @returns its accounts */
export async function fundWallet(node: MinedNode): Promise<readonly string[]> {
  if ((await node.accounts()).length === 0) {
    await node.fund();
    await node.mineBlocks(MAX_REORG_DEPTH); // no reorg takes the coins back
  }
  return await node.accounts();
}

/**
 * Sends the payments and mines their block. When the wallet cannot pay, because callers of the miner have its coins, it
 * gets the reward instead.
 */
export async function mineRound(
  node: Pick<MinedNode, 'pay' | 'mineBlocks' | 'earn'>,
  { payments }: Pick<Round, 'payments'>,
  tell: (line: string) => void
): Promise<void> {
  try {
    for (const payment of payments) await node.pay(payment);
  } catch (caught) {
    if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
    tell(`a payment failed, and the wallet gets the reward of the next block: ${caught.detail['reason']}`);
    return await node.earn();
  }
  await node.mineBlocks(1);
}
