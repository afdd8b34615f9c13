import { createRandom, type Random } from './random.ts';

/** What the miner does next: payments into the mempool, then a reorg of some depth or none, then one block. */
export interface Round {
  /** One action string a payment. */
  readonly actions: readonly string[];
  /** Blocks that a rival branch replaces; 0 in most rounds. */
  readonly reorgDepth: number;
  /** Part of the mean block interval to wait before, from 0.5 to 1.5. */
  readonly pause: number;
}

/** The coin node as the miner needs it. */
export interface MinedNode {
  getHeight(): Promise<number>;
  /** Mines until the wallet has coins to pay with. */
  fund(): Promise<void>;
  mineBlocks(count: number): Promise<void>;
  /** A payment into the mempool that carries an action. */
  pay(action: string): Promise<void>;
  /** Replaces the last blocks by a branch that is one block longer. */
  reorg(depth: number): Promise<void>;
}

/** Below this height no coinbase may be spent; a funded wallet is a few blocks above. */
export const FUNDING_BLOCKS = 101;
const REORG_ODDS = 1 / 25;
const EMPTY_BLOCK_ODDS = 1 / 6;
const MAX_REORG_DEPTH = 4;

/** The miner's plan: endless, and the same for the same seed. */
export function* planRounds(seed: string): Generator<Round, never> {
  const random = createRandom(`miner ${seed}`);
  for (;;) {
    const payments = random.next() < EMPTY_BLOCK_ODDS ? 0 : random.between(1, 3);
    yield {
      actions: Array.from({ length: payments }, () => planAction(random)),
      reorgDepth: random.next() < REORG_ODDS ? random.between(1, MAX_REORG_DEPTH) : 0,
      pause: 0.5 + random.next()
    };
  }
}

/** Short enough for one OP_RETURN. */
function planAction(random: Random): string {
  const tick = `DEV${random.between(1, 20)}`;
  const amount = random.between(1, 1_000_000);
  return random.pick([
    `ISSUE|0|${tick}|1000000000|1000000|8|devnet ${amount}`,
    `MINT|0|${tick}|${amount}`,
    `DESTROY|0|${tick}|${amount}|burnt`,
    `COINPAY|0|${amount}`,
    `BROADCAST|0|note ${amount}: päivää`
  ]);
}

/** Gives the wallet coins unless an earlier start did. */
export async function fundWallet(node: MinedNode): Promise<void> {
  if ((await node.getHeight()) < FUNDING_BLOCKS) await node.fund();
}

/** Payments and the block that holds them. */
export async function mineRound(node: MinedNode, { actions }: Pick<Round, 'actions'>): Promise<void> {
  for (const action of actions) await node.pay(action);
  await node.mineBlocks(1);
}
