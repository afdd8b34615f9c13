import Type, { type Static } from 'typebox';
import { findCarried, type LaneRules } from '../../coin/payload/lanes.ts';
import { activationHeight } from '../../coin/profile.ts';
import { hashId } from '../../coin/raw/hash-id.ts';
import { type RawTransaction, readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import {
  type FormInput,
  longestVirtualSize,
  type TransactionForm,
  virtualSize,
  writeBase,
  writeTransaction
} from '../../coin/raw/transaction-form.ts';
import { addressOf } from '../../coin/script/address.ts';
import { isWitnessProgram, readProgram, type ScriptKind } from '../../coin/script/pay-scripts.ts';
import { PlatformError } from '../../errors.ts';
import { hasDescendants } from '../coins/mempool-room.ts';
import { keyOf } from '../coins/reservations.ts';
import { firstSpent, type SourcedCoin } from '../coins/spent.ts';
import { dustFee, freeAmount } from '../transaction/dust.ts';
import { amountsOf, type Settled, settle } from '../transaction/select-coins.ts';
import { readSender, type Sender } from '../transaction/sender.ts';
import { readTransactionHex } from '../transaction/transaction-hex.ts';
import { takeFree, tellReserved } from './compose-with-coins.ts';
import type { EncoderDeps } from './create-transaction.ts';
import type { NodePolicy } from './node-policy.ts';
import { BUILD_ANOTHER, type ReplacedTransaction, readReplaced } from './replaced-transaction.ts';
import {
  ADDRESS,
  HASH_PATTERN,
  RATE,
  REPLACEABLE,
  REQUEST_ID,
  raisesRate,
  readFee,
  TRANSACTION_HEX
} from './request.ts';
import { psbtPaying } from './self-check.ts';
import { type Warning, warn } from './warnings.ts';

/** The parameters of `bump_tx`. */
export const BumpParams = Type.Object({
  txid: Type.Optional(Type.String({ pattern: HASH_PATTERN, description: 'of the transaction, which the node has' })),
  tx_hex: Type.Optional(TRANSACTION_HEX),
  feePerKb: Type.Optional(RATE),
  change: Type.Optional(ADDRESS),
  compressedPubKey: Type.Optional(
    Type.String({
      maxLength: 130,
      description:
        "the source's key, for a taproot address, and where further coins of a nested segwit address are needed"
    })
  ),
  request_id: Type.Optional(REQUEST_ID)
});
type BumpRequest = Static<typeof BumpParams>;

interface ChangeOutput {
  readonly vout: number;
  /** Satoshis. */
  readonly amount: string;
}

/** An unsigned replacement of an unconfirmed transaction. */
export interface Bumped {
  readonly psbt: string;
  /** Null when signing will change the id. */
  readonly txid: string | null;
  /** Satoshis. */
  readonly fee: string;
  readonly vsize: number;
  readonly inputs: readonly { readonly txid: string; readonly vout: number }[];
  readonly replaces: string;
  readonly replacedFee: string;
  /** Its output that takes what is left over; null where it has none. */
  readonly change: ChangeOutput | null;
  /** The output of the replaced transaction that was taken for change, and may be reduced; null where none was. */
  readonly replacedChange: ChangeOutput | null;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

/** Most coins that a replacement may add to pay its fee. */
const MOST_ADDED = 20;
/** Most coins that are looked at for it: some may be spent in the mempool. */
const MOST_LOOKED_AT = 100;
const LOCK_KINDS: ReadonlySet<ScriptKind | undefined> = new Set(['scriptHash', 'witnessScriptHash', 'taproot']);
const NONE_GONE: ReadonlyMap<string, unknown> = new Map();
/** Most inputs of a transaction that the mempool does not have: each is looked up. */
const MOST_LOST_INPUTS = 25;

/**
 * Builds the PSBT that replaces an unconfirmed transaction for a higher fee. Inputs, their order, data and payments
 * stay; the change shrinks.
 *
 * When the change does not suffice, further coins of the source are added and reserved for `holder`.
 *
 * @throws {PlatformError} REQUEST_INVALID, COINS_INSUFFICIENT, COIN_UNUSABLE, RESERVATIONS_FULL, NODE_UNREACHABLE,
 *   NODE_REFUSED, SELF_CHECK_FAILED; then nothing stays reserved
 */
export async function bumpTransaction(request: BumpRequest, deps: EncoderDeps, holder: string): Promise<Bumped> {
  const { network, profile, magic, coins, reservations } = deps;
  const policy = await deps.policy.read();
  const isEnvelopeActive = policy.height + 1 >= activationHeight(profile, network, 'TAPROOT_ENVELOPE');
  const rules = { magic, isEnvelopeActive };
  const bytes = await readBytes(request, coins);
  await refuseSettled(readRawTransaction(bytes), deps);
  const replaced = await readReplaced(bytes, request, { coins, network, rules });
  const added = await addCoins(request, replaced, policy, deps, holder);
  try {
    return describe(request, replaced, added, policy, deps, rules);
  } catch (caught) {
    reservations.release(added.coins, holder);
    throw caught;
  }
}

async function readBytes({ txid: given, tx_hex: hex }: BumpRequest, coins: EncoderDeps['coins']): Promise<Buffer> {
  const txid = given?.toLowerCase();
  if (hex !== undefined) {
    const bytes = readTransactionHex(hex);
    if (txid === undefined || readRawTransaction(bytes).txid === txid) return bytes;
    throw invalid(`tx_hex is the transaction ${readRawTransaction(bytes).txid}, not txid`);
  }
  if (txid === undefined) throw invalid('name a transaction by txid, or send it in tx_hex');
  const known = await coins.transaction(txid);
  if (known) return known;
  throw invalid(`the node knows no transaction txid: send it in tx_hex. ${BUILD_ANOTHER}`);
}

/** Refuses a transaction that is confirmed or replaced, or whose outputs other unconfirmed transactions spend. */
async function refuseSettled({ txid, inputs, isWithoutSource }: RawTransaction, { coins }: EncoderDeps): Promise<void> {
  if (isWithoutSource) throw invalid('it has no input that another transaction could spend');
  const isSpent = hasDescendants(await coins.mempoolEntry(txid));
  if (isSpent === false) return await refuseCrowded(txid, coins);
  if (isSpent)
    throw invalid(
      'other unconfirmed transactions spend its outputs and would be dropped with it: bump the last of them'
    );
  if (inputs.length > MOST_LOST_INPUTS)
    throw invalid(`the mempool does not have it, and it has more than ${MOST_LOST_INPUTS} inputs. ${BUILD_ANOTHER}`);
  const alive = await coins.spendable(inputs.map(({ txid: id, vout }) => ({ txid: id, vout })));
  if (alive.length < inputs.length)
    throw invalid(
      'the mempool does not have it and its inputs are spent: it is confirmed, or another transaction replaced it'
    );
}

/**
 * Refuses a transaction that hangs together with more of the mempool than nodes accept: they took it back out of a block, and take
 * no other in its place.
 */
async function refuseCrowded(txid: string, coins: EncoderDeps['coins']): Promise<void> {
  const crowded = await coins.crowded([{ txid, vout: 0 }], { count: 0, sizeBytes: 0 });
  if (crowded.length > 0)
    throw invalid(
      'more unconfirmed transactions hang together with it than nodes accept, as after blocks were taken back: they let nobody replace it before a block'
    );
}

/** A replacement whose fee is paid, with the coins that were added for it. */
interface Added {
  readonly settled: Settled;
  readonly coins: readonly SourcedCoin[];
  readonly sender: Sender | null;
}

/**
 * Adds confirmed coins of the source, one after the other, until they pay the fee. Nodes accept only confirmed ones
 * (BIP 125, rule 2).
 */
async function addCoins(
  request: BumpRequest,
  replaced: ReplacedTransaction,
  policy: NodePolicy,
  deps: EncoderDeps,
  holder: string
): Promise<Added> {
  const { network, coins, reservations, dustFloor } = deps;
  const { kept, total, changeScript } = replaced;
  const fee = feeRule(request, replaced, policy, deps);
  const changeDust = freeAmount(changeScript, { ...network, floor: dustFloor });
  const paid = kept.reduce((sum, { amount }) => sum + amount, 0n);
  const settleWith = (more: readonly FormInput[], amount: bigint) =>
    settle([...replaced.inputs, ...more], kept, total + amount - paid, { fee, changeScript, changeDust });
  const alone = settleWith([], 0n);
  if (alone?.isExact) return { settled: alone, coins: [], sender: null };
  const address = addressOf(replaced.source, network.addresses);
  if (address === undefined) throw invalid('its source has no address whose further coins could pay for it');
  const sender = readSender(address, request.compressedPubKey, network);
  const spent = new Set(replaced.inputs.map(keyOf));
  const candidates = (await coins.ofScript(sender.script)).filter(
    // A coin of the replaced transaction itself would be gone with it.
    (coin) => coin.height !== null && coin.txid !== replaced.txid && !spent.has(keyOf(coin))
  );
  const wanted = takeFree(candidates, NONE_GONE, { reservations, holder });
  const spendable = await coins.spendable(wanted.slice(0, MOST_LOOKED_AT));
  // A list may be older than the blocks that were taken back since.
  const confirmed = spendable.filter(({ confirmations }) => confirmations > 0);
  // Other calls may have taken some meanwhile.
  const free = takeFree(confirmed, NONE_GONE, { reservations, holder }).slice(0, MOST_ADDED);
  const taken: SourcedCoin[] = [];
  let settled = alone;
  for (const coin of free) {
    taken.push(coin);
    const inputs = taken.map(({ txid, vout }) => ({ txid, vout, sequence: REPLACEABLE, unlock: sender.unlock }));
    settled = settleWith(
      inputs,
      taken.reduce((sum, { amount }) => sum + amount, 0n)
    );
    if (settled?.isExact) break;
  }
  // Without coins that make a change, what is left over goes to the miner.
  if (!settled?.isExact && alone) return { settled: alone, coins: [], sender: null };
  if (!settled) {
    const { reserved, facts } = tellReserved(candidates, { reservations, holder });
    const available = taken.reduce((sum, { amount }) => sum + amount, total);
    const more = taken.map(({ txid, vout }) => ({ txid, vout, sequence: REPLACEABLE, unlock: sender.unlock }));
    const needed = fee({ inputs: [...replaced.inputs, ...more], outputs: kept });
    const amounts = amountsOf({ available, outputs: paid, fee: needed });
    const subject = `neither the change nor further coins of ${address} pay for the higher fee: ${amounts.required} satoshis are needed, and its inputs and ${taken.length} further coins hold ${available}`;
    throw new PlatformError('COINS_INSUFFICIENT', {
      ...amounts,
      reserved,
      reason: [subject, ...facts, BUILD_ANOTHER].join('; ')
    });
  }
  const reserved = reservations.take(taken, holder, request.request_id);
  try {
    const sourced = await coins.sourced(taken, sender.script);
    reservations.renew(taken, holder, request.request_id, reserved);
    return { settled, coins: sourced, sender };
  } catch (caught) {
    reservations.release(taken, holder, reserved);
    throw caught;
  }
}

/**
 * Returns the fee of a replacement: higher in total and in rate than the fee it replaces. @see BIP 125, rules 3 and 4
 */
function feeRule(
  request: BumpRequest,
  replaced: ReplacedTransaction,
  policy: NodePolicy,
  { network, mostFeeRate }: EncoderDeps
) {
  const leastRate = leastRateOf(replaced, policy, network);
  const medium = policy.rates.medium > leastRate ? policy.rates.medium : leastRate;
  if (leastRate > mostFeeRate)
    throw invalid(`it pays ${replaced.fee} satoshis: more for a replacement is above ENCODER_MAX_FEE_RATE`);
  const bounds = { mostRate: mostFeeRate, softDust: network.softDust };
  const rule = readFee(request, { ...policy, leastRate, rates: { ...policy.rates, medium } }, bounds);
  return (form: TransactionForm): bigint => {
    const asked = rule(form);
    const least = replaced.fee + (policy.raiseRate * BigInt(longestVirtualSize(form)) + 999n) / 1000n;
    return asked > least ? asked : least;
  };
}

/**
 * Returns the least rate of a replacement in satoshis per 1000 virtual bytes: the old rate plus what the node wants more.
 */
function leastRateOf(
  { fee, kept, vsize }: ReplacedTransaction,
  { raiseRate }: NodePolicy,
  { softDust }: EncoderDeps['network']
): bigint {
  const forSize = fee - dustFee(kept, { softDust });
  return raiseRate + perThousand(forSize > 0n ? forSize : 0n, vsize);
}

const perThousand = (fee: bigint, vsize: number) => (fee * 1000n + BigInt(vsize) - 1n) / BigInt(vsize);

function describe(
  request: BumpRequest,
  replaced: ReplacedTransaction,
  { settled: { form, fee, change, isExact }, coins, sender }: Added,
  policy: NodePolicy,
  { network, mostFeeRate }: EncoderDeps,
  rules: LaneRules
): Bumped {
  const vsize = virtualSize(form);
  if (perThousand(fee, vsize) > mostFeeRate + 1n)
    throw invalid(`a fee of ${fee} satoshis for ${vsize} bytes is above ENCODER_MAX_FEE_RATE`);
  checkSame(replaced, form, rules);
  const spent = [...replaced.spent, ...(sender ? firstSpent(sender, coins) : [])];
  const isFixed = spent.every(({ script, fields }) => isWitnessProgram(script) && !fields.redeemScript);
  const warnings: Warning[] = [
    ...(isExact ? [] : (['SURPLUS_TO_FEE'] as const)),
    ...(raisesRate(request, { leastRate: leastRateOf(replaced, policy, network) })
      ? (['FEE_RATE_RAISED'] as const)
      : []),
    ...(network.replacesByDefault ? [] : (['NODES_REPLACE_NOTHING'] as const)),
    ...(replaced.isReplaceable ? [] : (['NOT_REPLACEABLE'] as const)),
    ...(replaced.carried || !mayHoldLock(replaced) ? [] : (['REVEAL_ANEW'] as const))
  ];
  return {
    psbt: psbtPaying(form, spent, fee),
    txid: isFixed ? hashId(writeBase(form)) : null,
    fee: String(fee),
    vsize,
    inputs: form.inputs.map(({ txid, vout }) => ({ txid, vout })),
    replaces: replaced.txid,
    replacedFee: String(replaced.fee),
    change: change === null ? null : { vout: form.outputs.length - 1, amount: String(change) },
    replacedChange: replaced.change && { vout: replaced.change.vout, amount: String(replaced.change.amount) },
    ...warn(warnings)
  };
}

/** Returns whether an output may be a lock that a second transaction spends: it pays a script and not a key's hash. */
function mayHoldLock({ kept }: ReplacedTransaction): boolean {
  return kept.some(({ script }) => LOCK_KINDS.has(readProgram(script)?.kind));
}

/** Refuses a replacement from which decoders would read another action than from the original. */
function checkSame({ carried }: ReplacedTransaction, form: TransactionForm, rules: LaneRules): void {
  const read = findCarried(readRawTransaction(writeTransaction(form)), rules);
  const isSame = carried
    ? read?.lane === carried.lane && Buffer.from(read.frame).equals(carried.frame) && !carried.proof === !read.proof
    : read === undefined;
  if (!isSame) throw new PlatformError('SELF_CHECK_FAILED', { reason: 'the decoder reads another action' });
}

const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
