import { TaprootControlBlock } from '@scure/btc-signer/psbt.js';
import type { ChainNetwork } from '../coin/chains.ts';
import { type Carried, findCarried, type LaneRules } from '../coin/payload/lanes.ts';
import { type RawTransaction, readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { type FormInput, type FormOutput, virtualSize } from '../coin/raw/transaction-form.ts';
import { readProgram } from '../coin/script/pay-scripts.ts';
import { readScript } from '../coin/script/script.ts';
import { PlatformError } from '../errors.ts';
import type { NodeCoins, PlacedCoin } from './coins.ts';
import { paidScript, REPLACEABLE } from './request.ts';
import { MOST_TOLD_BYTES } from './spent.ts';
import type { Spent } from './transaction/psbt.ts';
import { MAX_INPUTS } from './transaction/select-coins.ts';
import { SPARE_WEIGHT } from './transaction/sender.ts';

/** An unconfirmed transaction, as its replacement must know it. */
export interface ReplacedTransaction {
  readonly txid: string;
  /** As it was signed, but replaceable. */
  readonly inputs: readonly FormInput[];
  /** What a signer is told of each input. */
  readonly spent: readonly Spent[];
  /** Base units that the inputs hold. */
  readonly total: bigint;
  /** All but the change, in their order. */
  readonly kept: readonly FormOutput[];
  /** Where change goes. */
  readonly changeScript: Buffer;
  /** The script of whom the transaction is: of the first input, or of what funded it. */
  readonly source: Buffer;
  readonly fee: bigint;
  readonly vsize: number;
  /** It said that it may be replaced. @see BIP 125 */
  readonly isReplaceable: boolean;
  /** What it says; undefined: nothing. */
  readonly carried: Carried | undefined;
}

/** An input with a greater sequence does not say that it may be replaced. */
const LAST_REPLACEABLE = 0xfffffffd;
/** Inputs that are looked up at once, and bytes of all transactions that they spend from. */
const PART = 25;
const MOST_SPENT_BYTES = 4_000_000;

/**
 * Reads a signed transaction and what it spends.
 *
 * @param change  an address; undefined: that of its source. Its last output there is the change
 * @throws {PlatformError} REQUEST_INVALID, COIN_UNUSABLE, NODE_UNREACHABLE, NODE_REFUSED
 */
export async function readReplaced(
  bytes: Buffer,
  change: string | undefined,
  { coins, network, rules }: { readonly coins: NodeCoins; readonly network: ChainNetwork; readonly rules: LaneRules }
): Promise<ReplacedTransaction> {
  const transaction = readRawTransaction(bytes);
  const { inputs, outputs, witnesses, txid } = transaction;
  if (transaction.isWithoutSource) throw invalid('it spends nothing that could be spent again');
  if (inputs.length > MAX_INPUTS) throw invalid(`it has more than ${MAX_INPUTS} inputs`);
  const placed = await placedWithin(inputs, coins);
  const unlocks = inputs.map(({ script }, at) => ({ script, witness: witnesses[at] ?? [] }));
  if (unlocks.some(({ script, witness }) => script.length === 0 && witness.length === 0))
    throw invalid('it is not signed: build it anew by create_tx');
  const spares = placed.reduce((sum, { transaction: { length } }, at) => {
    return unlocks[at]!.witness.length > 0 ? sum + length : sum;
  }, 0);
  const needed = placed.reduce((sum, { transaction: { length } }) => sum + length, 0) - spares;
  if (needed > MOST_TOLD_BYTES)
    throw invalid(
      `signers of it must be told the transactions of its coins, which take more than ${MOST_TOLD_BYTES} bytes`
    );
  const carried = findCarried(transaction, rules);
  const source = await sourceOf(transaction, placed[0]!, carried, coins);
  const changeScript = change === undefined ? source : paidScript(change, network);
  const changeAt = outputs.findLastIndex(({ script }) => script.equals(changeScript));
  const form = inputs.map(({ txid: id, vout }, at) => ({
    ...{ txid: id, vout, sequence: REPLACEABLE },
    unlock: {
      ...unlocks[at]!,
      spareWeight: unlocks[at]!.witness.length > 0 ? SPARE_WEIGHT.inWitness : SPARE_WEIGHT.inScript
    }
  }));
  const total = placed.reduce((sum, { amount }) => sum + amount, 0n);
  const fee = total - outputs.reduce((sum, { amount }) => sum + amount, 0n);
  if (fee < 0n) throw invalid('it pays more than it spends');
  return {
    ...{ txid, inputs: form, total, fee, changeScript, source, carried },
    spent: placed.map((coin, at) => {
      const isLeftOut = unlocks[at]!.witness.length > 0 && needed + spares > MOST_TOLD_BYTES;
      return { ...spentOf(coin, unlocks[at]!), ...(isLeftOut && { transaction: null }) };
    }),
    kept: outputs.filter((_, at) => at !== changeAt),
    vsize: virtualSize({ inputs: form, outputs }),
    isReplaceable: transaction.sequences.some((sequence) => sequence <= LAST_REPLACEABLE)
  };
}

/** Coins in parts, so that a stranger's transaction costs no more than what signers can be told. */
async function placedWithin(inputs: RawTransaction['inputs'], coins: NodeCoins): Promise<readonly PlacedCoin[]> {
  const placed: PlacedCoin[] = [];
  const sizes = new Map<string, number>();
  for (let start = 0; start < inputs.length; start += PART) {
    for (const coin of await coins.placed(inputs.slice(start, start + PART))) {
      placed.push(coin);
      sizes.set(coin.txid, coin.transaction.length);
    }
    if (sizes.values().reduce((sum, size) => sum + size, 0) > MOST_SPENT_BYTES)
      throw invalid(`the transactions that it spends from take more than ${MOST_SPENT_BYTES} bytes`);
  }
  return placed;
}

/** What an input reveals was funded by the source: its script is one step back. */
async function sourceOf(
  { inputs }: RawTransaction,
  first: PlacedCoin,
  carried: Carried | undefined,
  coins: NodeCoins
): Promise<Buffer> {
  if (!carried || carried.lane === 'outputs') return first.script;
  const [funded] = readRawTransaction(Buffer.from(first.transaction)).inputs;
  if (!funded) throw invalid(`what it spends, ${inputs[0]!.txid}, has no source`);
  return (await coins.placed([funded]))[0]!.script;
}

/** What a signer must be told anew, as the signed input shows it. */
function spentOf(
  { amount, script, transaction }: PlacedCoin,
  { script: unlock, witness }: { readonly script: Buffer; readonly witness: readonly Buffer[] }
): Spent {
  const kind = readProgram(script)?.kind;
  const hasWitness = witness.length > 0;
  const whole = { amount, script, hasWitness, transaction: readRawTransaction(Buffer.from(transaction)).baseBytes };
  if (kind === 'taproot') return { ...whole, transaction: null, fields: leafFields(witness) };
  const redeemScript = kind === 'scriptHash' ? readScript(unlock)?.at(-1)?.data : undefined;
  const inner = readProgram(redeemScript ?? script)?.kind;
  const witnessScript = inner === 'witnessScriptHash' ? witness.at(-1) : undefined;
  return { ...whole, fields: { ...(redeemScript && { redeemScript }), ...(witnessScript && { witnessScript }) } };
}

function leafFields(witness: readonly Buffer[]): Spent['fields'] {
  const [leaf, way] = witness.slice(-2);
  if (witness.length < 2 || !leaf || !way) return {};
  const version = way[0]! & 0xfe;
  try {
    return { tapLeafScript: [[TaprootControlBlock.decode(way), Buffer.from([...leaf, version])]] };
  } catch (caught) {
    throw invalid(`the way to its leaf has no known form: ${(caught as Error).message}`);
  }
}

const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
