import { TaprootControlBlock } from '@scure/btc-signer/psbt.js';
import type { ChainNetwork } from '../../coin/chains.ts';
import { type Carried, findCarried, type LaneRules } from '../../coin/payload/lanes.ts';
import { type RawTransaction, readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import { type FormInput, type FormOutput, virtualSize } from '../../coin/raw/transaction-form.ts';
import { paidScript } from '../../coin/script/address-script.ts';
import { readProgram } from '../../coin/script/pay-scripts.ts';
import { readScript } from '../../coin/script/script.ts';
import { PlatformError } from '../../errors.ts';
import type { NodeCoins, PlacedCoin } from '../coins/coins.ts';
import { keyOf } from '../coins/reservations.ts';
import { MOST_PSBT_SOURCE_BYTES } from '../coins/spent.ts';
import type { Spent } from '../transaction/psbt.ts';
import { MAX_INPUTS } from '../transaction/select-coins.ts';
import { SPARE_WEIGHT, taprootFields } from '../transaction/sender.ts';
import { REPLACEABLE } from './request.ts';

/** An unconfirmed transaction with the facts that its replacement needs. */
export interface ReplacedTransaction {
  readonly txid: string;
  /** The signed inputs, made replaceable. */
  readonly inputs: readonly FormInput[];
  /** PSBT fields of each input. */
  readonly spent: readonly Spent[];
  /** Satoshis of all inputs. */
  readonly total: bigint;
  /** All outputs but the change, in their order. */
  readonly kept: readonly FormOutput[];
  /** The output that was taken for change; null where none was. */
  readonly change: { readonly vout: number; readonly amount: bigint } | null;
  /** The script that receives the change. */
  readonly changeScript: Buffer;
  /** The sender's script: that of the first input, or for a reveal that of the transaction which funded it. */
  readonly source: Buffer;
  readonly fee: bigint;
  readonly vsize: number;
  /** Whether the transaction signals replaceability. @see BIP 125 */
  readonly isReplaceable: boolean;
  /** The payload that it carries; undefined when there is none. */
  readonly carried: Carried | undefined;
}

/** Remedy where a transaction cannot be replaced: another one, of other coins, might be confirmed beside it. */
export const BUILD_ANOTHER =
  'If you build another by create_tx, name one input of the first answer in utxos: then only one of the two can be confirmed, and nobody is paid twice';
/** Greatest sequence that signals replaceability. */
const LAST_REPLACEABLE = 0xfffffffd;
/** Inputs per look-up. */
const PART = 25;
/** Most bytes of all transactions that the inputs spend from. */
const MOST_SPENT_BYTES = 4_000_000;

/**
 * Reads a signed transaction and the coins it spends.
 *
 * @param asked `change` is an address: the last output that pays it is the change. By default the very last output, if it pays
 *   the source. `compressedPubKey` is the source's key
 * @throws {PlatformError} REQUEST_INVALID, COIN_UNUSABLE, NODE_UNREACHABLE, NODE_REFUSED
 */
export async function readReplaced(
  bytes: Buffer,
  { change, compressedPubKey }: { readonly change?: string; readonly compressedPubKey?: string },
  { coins, network, rules }: { readonly coins: NodeCoins; readonly network: ChainNetwork; readonly rules: LaneRules }
): Promise<ReplacedTransaction> {
  const transaction = readRawTransaction(bytes);
  const { inputs, outputs, witnesses, txid } = transaction;
  if (new Set(inputs.map(keyOf)).size < inputs.length) throw invalid('it spends a coin twice');
  if (inputs.length > MAX_INPUTS) throw invalid(`it has more than ${MAX_INPUTS} inputs. ${BUILD_ANOTHER}`);
  const placed = await placedWithin(inputs, coins);
  const unlocks = inputs.map(({ script }, at) => ({ script, witness: witnesses[at] ?? [] }));
  if (unlocks.some(({ script, witness }) => script.length === 0 && witness.length === 0))
    throw invalid(`it is not signed: send it as it was signed. ${BUILD_ANOTHER}`);
  const spares = placed.reduce((sum, { transaction: { length } }, at) => {
    return unlocks[at]!.witness.length > 0 ? sum + length : sum;
  }, 0);
  const needed = placed.reduce((sum, { transaction: { length } }) => sum + length, 0) - spares;
  if (needed > MOST_PSBT_SOURCE_BYTES)
    throw invalid(
      `its signers need the transactions of its coins, which take more than ${MOST_PSBT_SOURCE_BYTES} bytes. ${BUILD_ANOTHER}`
    );
  const carried = findCarried(transaction, rules);
  const source = await sourceOf(transaction, placed[0]!, carried, coins);
  const changeScript = change === undefined ? source : paidScript(change, network);
  const paying = outputs.findLastIndex(({ script }) => script.equals(changeScript));
  // Change is written last: an earlier output to the source itself is a payment that was asked for.
  const changeAt = change === undefined && paying < outputs.length - 1 ? -1 : paying;
  const form = inputs.map(({ txid: id, vout }, at) => ({
    txid: id,
    vout,
    sequence: REPLACEABLE,
    unlock: {
      ...unlocks[at]!,
      spareWeight: unlocks[at]!.witness.length > 0 ? SPARE_WEIGHT.inWitness : SPARE_WEIGHT.inScript
    }
  }));
  const total = placed.reduce((sum, { amount }) => sum + amount, 0n);
  const fee = total - outputs.reduce((sum, { amount }) => sum + amount, 0n);
  if (fee < 0n) throw invalid('it pays more than it spends');
  return {
    txid,
    inputs: form,
    total,
    fee,
    change: changeAt < 0 ? null : { vout: changeAt, amount: outputs[changeAt]!.amount },
    changeScript,
    source,
    carried,
    spent: placed.map((coin, at) => {
      const isLeftOut = unlocks[at]!.witness.length > 0 && needed + spares > MOST_PSBT_SOURCE_BYTES;
      return { ...spentOf(coin, unlocks[at]!, compressedPubKey), ...(isLeftOut && { transaction: null }) };
    }),
    kept: outputs.filter((_, at) => at !== changeAt),
    vsize: virtualSize({ inputs: form, outputs }),
    isReplaceable: transaction.sequences.some((sequence) => sequence <= LAST_REPLACEABLE)
  };
}

/** Looks coins up in parts, so that a stranger's transaction costs no more bytes than signers can be given. */
async function placedWithin(inputs: RawTransaction['inputs'], coins: NodeCoins): Promise<readonly PlacedCoin[]> {
  const placed: PlacedCoin[] = [];
  const sizes = new Map<string, number>();
  for (let start = 0; start < inputs.length; start += PART) {
    for (const coin of await coins.placed(inputs.slice(start, start + PART))) {
      placed.push(coin);
      sizes.set(coin.txid, coin.transaction.length);
    }
    if (sizes.values().reduce((sum, size) => sum + size, 0) > MOST_SPENT_BYTES)
      throw invalid(`the transactions that it spends from take more than ${MOST_SPENT_BYTES} bytes. ${BUILD_ANOTHER}`);
  }
  return placed;
}

/**
 * Returns the script of the sender. A reveal spends outputs that the sender funded: the script is one transaction back.
 */
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

/** Returns the PSBT fields of an input, read from its signed form. @param publicKey of the source, where it is known */
function spentOf(
  { amount, script, transaction }: PlacedCoin,
  { script: unlock, witness }: { readonly script: Buffer; readonly witness: readonly Buffer[] },
  publicKey: string | undefined
): Spent {
  const kind = readProgram(script)?.kind;
  const hasWitness = witness.length > 0;
  const whole = { amount, script, hasWitness, transaction: readRawTransaction(Buffer.from(transaction)).baseBytes };
  if (kind === 'taproot') {
    // Of a spend by key the witness tells nothing.
    const fields = witness.length < 2 ? taprootFields(script, publicKey) : leafFields(witness);
    return { ...whole, transaction: null, fields };
  }
  const redeemScript = kind === 'scriptHash' ? readScript(unlock)?.at(-1)?.data : undefined;
  const inner = readProgram(redeemScript ?? script)?.kind;
  const witnessScript = inner === 'witnessScriptHash' ? witness.at(-1) : undefined;
  return { ...whole, fields: { ...(redeemScript && { redeemScript }), ...(witnessScript && { witnessScript }) } };
}

function leafFields(witness: readonly Buffer[]): Spent['fields'] {
  const [leaf, way] = witness.slice(-2);
  if (!leaf || !way) return {};
  const version = way[0]! & 0xfe;
  try {
    return { tapLeafScript: [[TaprootControlBlock.decode(way), Buffer.from([...leaf, version])]] };
  } catch (caught) {
    throw invalid(`the way to its leaf has no known form: ${(caught as Error).message}`);
  }
}

const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
