import type { ChainNetwork } from '../../coin/chains.ts';
import type { RawTransaction } from '../../coin/raw/raw-transaction.ts';
import { longestVirtualSize, type TransactionForm, virtualSize } from '../../coin/raw/transaction-form.ts';
import { payTo } from '../../coin/script/pay-scripts.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { NodeCoins } from '../coins/coins.ts';
import { type Order, type Reveal, surplusOf } from '../transaction/compose.ts';
import { dustAmount, dustFee } from '../transaction/dust.ts';
import { MAX_INPUTS } from '../transaction/select-coins.ts';
import { FINAL } from './request.ts';

/** A second transaction that pays nothing, and the first one. */
interface Unpaying {
  readonly order: Order;
  readonly reveal: Reveal;
  readonly first: RawTransaction;
}

/** Parts that tell the fee of the first transaction. */
interface FeeSources {
  readonly coins: Pick<NodeCoins, 'placed'>;
  readonly network: ChainNetwork;
  /** Satoshis per 1000 virtual bytes: the least that the node relays now. */
  readonly leastRate: bigint;
}

/**
 * Refuses a second call that names no payments where the first transaction may hold some: the action would be revealed
 * unpaid.
 *
 * The first transaction does not tell what it holds coins for. But one call made it and planned the second one, both at
 * one fee rate, which its own fee tells. What it holds must be what the second one costs at that rate. Where its fee was
 * raised since, or took a remainder, that rate tells too much: it is then refused, unless it holds too little for a payment,
 * or exactly what this call would lock.
 *
 * @throws {PlatformError} REQUEST_INVALID; NODE_UNREACHABLE, NODE_REFUSED
 */
export async function refuseForgotten({ order, reveal, first }: Unpaying, sources: FeeSources): Promise<void> {
  const { funding, form, change } = reveal;
  if (surplusOf(order, funding) === 0n) return;
  const plain = { ...form, outputs: change === null ? form.outputs : form.outputs.slice(0, -1) };
  const held = funding.locked.reduce((sum, { amount }) => sum + amount, 0n);
  const smallest = smallestPayment(sources.network);
  const leastFee = (BigInt(sources.network.leastMinedRate) * BigInt(virtualSize(plain))) / 1000n;
  if (held - leastFee < smallest) return;
  const fee = await readFirstFee(first, sources);
  if (fee !== null && isExplained({ order, reveal, first }, plain, { fee, smallest, ...sources })) return;
  const isTold = order.encoding === 'TAPROOT' ? 'customOutputs and feeQuote' : 'customOutputs';
  const none = order.encoding === 'TAPROOT' ? '[] and an amount of 0' : '[]';
  throw new PlatformError('REQUEST_INVALID', {
    reason: `the first transaction holds ${held} satoshis for the second one, and its own fee does not show that they are for a fee alone: send ${isTold} of the first call, ${none} where it had none`
  });
}

/** Returns whether the second transaction costs what the first one holds, at the fee rate of the first one. */
function isExplained(
  { order, reveal: { funding }, first }: Unpaying,
  plain: TransactionForm,
  { fee, smallest, leastRate }: { readonly fee: bigint; readonly smallest: bigint } & FeeSources
): boolean {
  const { sender, dust } = order;
  const outputs = first.outputs;
  const inputs = first.inputs.map(({ txid, vout }) => ({ txid, vout, sequence: FINAL, unlock: sender.unlock }));
  const own = { inputs, outputs };
  const forSize = fee - dustFee(outputs, dust);
  if (forSize <= 0n) return false;
  const longest = BigInt(longestVirtualSize(own));
  // The node's least rate holds with the longest signatures, any other with usual ones.
  const isLeast = (forSize - 1n) * 1000n < leastRate * longest;
  // A fee of whole satoshis tells a rate to within one satoshi for each size of the first transaction.
  const inexact = BigInt(Math.ceil(virtualSize(plain) / virtualSize(own)) + 1);
  const ranges = (isLeast ? [virtualSize, longestVirtualSize] : [virtualSize]).map((sizeOf) => {
    const surpluses = [forSize - 1n, forSize].map((paid) => {
      const feeOf = (form: TransactionForm) => {
        const share = (paid * BigInt(sizeOf(form)) + BigInt(sizeOf(own)) - 1n) / BigInt(sizeOf(own));
        const least = isLeast ? 0n : (leastRate * BigInt(longestVirtualSize(form)) + 999n) / 1000n;
        return greater(share, least) + dustFee(form.outputs, dust);
      };
      return surplusOf({ ...order, fee: feeOf }, funding);
    });
    return [surpluses.reduce(lesser), surpluses.reduce(greater) + inexact] as const;
  });
  const whole = [ranges.map(([from]) => from).reduce(lesser), ranges.map(([, to]) => to).reduce(greater)] as const;
  const isNarrow = whole[1] - whole[0] < smallest;
  return (isNarrow ? [whole] : ranges).some(([from, to]) => from <= 0n && to >= 0n);
}

/** Returns the fee that a transaction pays; null where it has more inputs than a first one, or the node lacks what it spends from. */
async function readFirstFee({ inputs, outputs }: RawTransaction, { coins }: FeeSources): Promise<bigint | null> {
  if (inputs.length > MAX_INPUTS) return null;
  try {
    const spent = (await coins.placed(inputs)).reduce((sum, { amount }) => sum + amount, 0n);
    return outputs.reduce((left, { amount }) => left - amount, spent);
  } catch (caught) {
    if (!hasCode(caught, 'COIN_UNUSABLE')) throw caught;
    return null;
  }
}

/** Returns the least satoshis that a payment may have on a chain, whatever its form. */
function smallestPayment(network: ChainNetwork): bigint {
  const kind = network.addresses.bech32 === null ? 'keyHash' : 'witnessKeyHash';
  return dustAmount(payTo({ kind, bytes: new Uint8Array(20) }), { ...network, floor: 0 });
}

const lesser = (a: bigint, b: bigint) => (a < b ? a : b);
const greater = (a: bigint, b: bigint) => (a > b ? a : b);
