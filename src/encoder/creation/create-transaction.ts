import type { ChainNetwork } from '../../coin/chains.ts';
import { activationHeight, envelopeHeight, type Profile } from '../../coin/profile.ts';
import { hashId } from '../../coin/raw/hash-id.ts';
import { type RawTransaction, readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import { type FormOutput, virtualSize, writeBase } from '../../coin/raw/transaction-form.ts';
import { addressOf } from '../../coin/script/address.ts';
import { paidScript } from '../../coin/script/address-script.ts';
import { PlatformError } from '../../errors.ts';
import { type NodeCoins, unusable } from '../coins/coins.ts';
import type { Reservations } from '../coins/reservations.ts';
import { firstSpent, revealSpent, type SourcedCoin } from '../coins/spent.ts';
import {
  type Composed,
  composeReveal,
  type Funding,
  fundedOutputs,
  type Order,
  orderLocks,
  type Reveal,
  surplusOf
} from '../transaction/compose.ts';
import { freeAmount } from '../transaction/dust.ts';
import { chooseEncoding, type Encoding, type EncodingFacts, mayBeHalfKnown } from '../transaction/encodings.ts';
import type { TwoStepEncoding } from '../transaction/locks.ts';
import type { Coin } from '../transaction/select-coins.ts';
import { readSender, type Sender } from '../transaction/sender.ts';
import { readTransactionHex } from '../transaction/transaction-hex.ts';
import { composeWithCoins } from './compose-with-coins.ts';
import { refuseBeforeFee } from './fee-place.ts';
import { compressFile, type FileCompression } from './file-compression.ts';
import { refuseForgotten } from './forgotten-payments.ts';
import type { NodePolicy, NodePolicyReader } from './node-policy.ts';
import { refuseOldSpellings } from './old-spellings.ts';
import {
  type CreateRequest,
  FINAL,
  leastFee,
  REPLACEABLE,
  raisesRate,
  readAction,
  readFee,
  readFeeLimit,
  readPayments,
  readPlaces,
  readQuote,
  unknownParams
} from './request.ts';
import { type ActionContent, psbtPaying, selfCheck } from './self-check.ts';
import { type Warning, warn } from './warnings.ts';

/** Parts and settings for building transactions. */
export interface EncoderDeps {
  readonly network: ChainNetwork;
  readonly profile: Profile;
  readonly magic: string;
  /** DUST_AMOUNT, in satoshis. */
  readonly dustFloor: number;
  /** Satoshis per 1000 virtual bytes. */
  readonly mostFeeRate: bigint;
  readonly policy: NodePolicyReader;
  readonly coins: NodeCoins;
  readonly reservations: Reservations;
}

/** Unsigned transactions that carry an action. */
export interface Created {
  readonly psbt: string;
  readonly encoding: Encoding;
  /** Null when signing will change the id. */
  readonly txid: string | null;
  /** Satoshis. */
  readonly fee: string;
  /** Satoshis of all inputs without the change, also that of a second transaction: fees, data, payments. */
  readonly total: string;
  readonly vsize: number;
  readonly inputs: readonly { readonly txid: string; readonly vout: number }[];
  readonly revealPsbt?: string;
  readonly revealFee?: string;
  readonly carrierScripts?: readonly string[];
  /** Parameters for `create_envelope_cancel_tx`. */
  readonly envelope?: Envelope;
  /** Set when bytes stand beside the action. */
  readonly compression?: FileCompression;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

/** The output that holds an envelope. */
interface Envelope {
  readonly commitVout: number;
  /** Satoshis. */
  readonly commitValue: string;
  readonly internalPubkey: string;
  readonly tapleafHash: string;
}

/** The facts that a request fixes, independent of the coins that pay. */
interface Plan {
  readonly order: Order;
  /** Null for a transaction that only pays. */
  readonly content: ActionContent | null;
  readonly isEnvelopeActive: boolean;
  readonly warnings: readonly Warning[];
}

/** Most characters of a caller's text in a warning. */
const MAX_NAME = 40;
const DEFLATED_HERE =
  "this call deflated rawData, and another CPU or version of Node deflates otherwise: send data and rawData of compression.stored in the first call's answer, or compress: false where that call had it";
const TWO_STEPS: readonly TwoStepEncoding[] = ['P2WSH', 'P2SH', 'TAPROOT'];

/**
 * Builds the PSBT of an action. Coins that it chooses itself are reserved for `holder`.
 *
 * @throws {PlatformError} REQUEST_INVALID, ENCODING_UNAVAILABLE, COINS_INSUFFICIENT, COIN_UNUSABLE, RESERVATIONS_FULL,
 *   NODE_UNREACHABLE, NODE_REFUSED, SELF_CHECK_FAILED; then nothing stays reserved
 */
export async function createTransaction(asked: CreateRequest, deps: EncoderDeps, holder: string): Promise<Created> {
  const { request, compression } = await compressFile(asked);
  const created = await buildTransaction(request, deps, holder, compression);
  return compression ? { ...created, compression } : created;
}

async function buildTransaction(
  request: CreateRequest,
  deps: EncoderDeps,
  holder: string,
  compression: FileCompression | null
): Promise<Created> {
  const policy = await deps.policy.read();
  const funding = await readFunding(request, deps.coins);
  if (funding) return await createReveal(request, funding, deps, policy, compression?.compressed);
  refuseOldSpellings(request, {
    network: deps.network,
    from: activationHeight(deps.profile, deps.network, 'CANONICAL_ADDRESSES'),
    nextHeight: policy.height + 1
  });
  const facts = readRequest(request, deps, policy);
  // A transaction without an action needs no carrier.
  const encoding = facts.isSaying ? chooseEncoding(request.encoding, facts.encodingFacts) : 'OP_RETURN';
  if (request.fee !== undefined && TWO_STEPS.some((each) => each === encoding))
    throw invalid(`fee is for one transaction, and ${encoding} takes two: give feePerKb`);
  const plan = facts.planFor(encoding);
  const wanted = { places: readPlaces(request), unconfirmed: request.unconfirmed ?? true };
  const composed = await composeWithCoins(plan.order, wanted, { ...deps, holder, request: request.request_id });
  try {
    return describe(plan, composed);
  } catch (caught) {
    if (wanted.places.length === 0) deps.reservations.release(composed.first.coins, holder);
    throw caught;
  }
}

/** Returns the signed first transaction that a request gives as bytes or by id; undefined when it gives none. */
async function readFunding({ p2shHash: given, p2shHex }: CreateRequest, coins: NodeCoins): Promise<Buffer | undefined> {
  const p2shHash = given?.toLowerCase();
  if (p2shHex === undefined) {
    const known = p2shHash === undefined ? undefined : await coins.transaction(p2shHash);
    if (known || p2shHash === undefined) return known;
    throw invalid('the node knows no transaction p2shHash: broadcast it, or send its hex in p2shHex');
  }
  const bytes = readTransactionHex(p2shHex);
  const { txid } = readRawTransaction(bytes);
  if (p2shHash === undefined || p2shHash === txid) return bytes;
  throw invalid(`p2shHex is the transaction ${txid}, not p2shHash`);
}

/** Builds the second transaction. @param bytes the signed first one @param isDeflated whether this call deflated the action's bytes */
async function createReveal(
  request: CreateRequest,
  bytes: Buffer,
  deps: EncoderDeps,
  policy: NodePolicy,
  isDeflated = false
): Promise<Created> {
  const funding = readRawTransaction(bytes);
  const { txid } = funding;
  const { planFor, isSaying, encodingFacts } = readRequest(request, deps, policy);
  if (!isSaying) throw invalid('a second transaction reveals data: send it as in the first call');
  const isUnsigned = funding.inputs.some(({ script }, at) => script.length === 0 && !funding.witnesses[at]?.length);
  if (!encodingFacts.sender.isSegwit && isUnsigned)
    throw invalid('the first transaction is not signed, which changes its id: sign it first');
  const wanted = TWO_STEPS.filter((each) => [undefined, 'AUTO', each].includes(request.encoding));
  for (const encoding of wanted) {
    const plan = planFor(encoding);
    const locked = findLocked(plan.order, encoding, funding.outputs);
    if (!locked) continue;
    refuseOtherQuote(plan.order, funding.outputs);
    await refuseOtherPayer(plan.order.sender, funding, deps);
    await refuseSpent({ txid, locked }, request.p2shHex !== undefined, deps.coins);
    const reveal = composeReveal(plan.order, { txid, locked });
    checkReveal(plan, reveal, funding.outputs);
    const surplus = surplusOf(plan.order, reveal.funding);
    // An envelope's fee of the protocol is paid by the second transaction.
    const isQuoteSilent = encoding === 'TAPROOT' && request.feeQuote === undefined;
    if (request.customOutputs === undefined || isQuoteSilent)
      await refuseForgotten({ order: plan.order, reveal, first: funding }, { ...deps, leastRate: policy.leastRate });
    return {
      ...summary(
        reveal,
        locked.map(({ vout, amount }) => ({ txid, vout, amount }))
      ),
      ...warn([...warningsOf(plan, reveal), ...holdsMore(surplus, plan.order)]),
      psbt: psbtPaying(reveal.form, revealSpent(reveal.funding, bytes), reveal.fee),
      encoding,
      txid: encoding === 'P2SH' ? null : hashId(writeBase(reveal.form))
    };
  }
  throw invalid(
    [
      'the first transaction has no outputs that hold this action: send data, pubkey and encoding as in the first call',
      ...(isDeflated ? [DEFLATED_HERE] : [])
    ].join('; ')
  );
}

/** @param surplus satoshis beyond what the order would lock */
const holdsMore = (surplus: bigint, { changeScript, dust }: Order): readonly Warning[] =>
  surplus < freeAmount(changeScript, dust) ? [] : [['FIRST_HOLDS_MORE', `${surplus} satoshis`]];

/** Refuses a first transaction that does not pay the request's `feeQuote`. @throws {PlatformError} REQUEST_INVALID */
function refuseOtherQuote(order: Order, outputs: readonly FormOutput[]): void {
  const isPaid = (fee: FormOutput) =>
    outputs.some(({ amount, script }) => amount === fee.amount && Buffer.from(script).equals(fee.script));
  if (!fundedOutputs(order).every(isPaid))
    throw invalid('the first transaction pays another feeQuote, or none: send the feeQuote of the first call');
}

/**
 * Refuses another payer: an action counts for the address that paid the first transaction. @throws {PlatformError}
 * REQUEST_INVALID
 */
async function refuseOtherPayer(
  { script, address }: Sender,
  { inputs }: Pick<RawTransaction, 'inputs'>,
  { coins, network }: Pick<EncoderDeps, 'coins' | 'network'>
): Promise<void> {
  const [payer] = await coins.placed(inputs.slice(0, 1));
  if (!payer || payer.script.equals(script)) return;
  const paid = addressOf(payer.script, network.addresses) ?? 'a script without an address';
  throw invalid(`the first transaction is paid by ${paid}, and not by ${address}: the action would count for that one`);
}

/**
 * Refuses when the node knows the first transaction and an output that holds the action is spent, or when it has dropped it.
 *
 * @param isGiven whether the caller sent the transaction itself: it may be broadcast later
 * @throws {PlatformError} COIN_UNUSABLE, REQUEST_INVALID
 */
async function refuseSpent({ txid, locked }: Funding, isGiven: boolean, coins: NodeCoins): Promise<void> {
  const places = locked.map(({ vout, amount }) => ({ txid, vout, amount }));
  const unspent = await coins.spendable(places);
  if (unspent.length === places.length) return;
  if (!(await coins.isAtNode(txid))) {
    if (isGiven) return; // not sent yet
    throw invalid('the node no longer has the first transaction p2shHash: send it again by broadcast_tx');
  }
  const [spent] = places.filter(({ vout }) => !unspent.some((other) => other.vout === vout));
  throw unusable(spent!, 'it held the action, and is spent');
}

/** Finds one output for each lock of the order; undefined when one is missing. */
function findLocked(
  order: Order,
  encoding: TwoStepEncoding,
  outputs: readonly { readonly amount: bigint; readonly script: Uint8Array }[]
): Funding['locked'] | undefined {
  const { keyHash, publicKey } = order.sender;
  if (encoding === 'TAPROOT' ? !publicKey : !keyHash) return undefined;
  const used = new Set<number>();
  const locked: Funding['locked'][number][] = [];
  for (const lock of orderLocks({ ...order, encoding })) {
    const vout = outputs.findIndex(({ script }, at) => !used.has(at) && lock.script.equals(script));
    const output = outputs[vout];
    if (output === undefined) return undefined;
    used.add(vout);
    locked.push({ vout, amount: output.amount, lock });
  }
  return locked;
}

/** Reads everything that does not depend on coins. @throws {PlatformError} REQUEST_INVALID */
function readRequest(request: CreateRequest, deps: EncoderDeps, policy: NodePolicy) {
  const { network, profile, magic, dustFloor, mostFeeRate } = deps;
  const content = readAction(request);
  const frame = content?.frame ?? Buffer.alloc(0);
  const sender: Sender = readSender(request.pubkey, request.compressedPubKey, network);
  const nextHeight = policy.height + 1;
  const isEnvelopeActive = nextHeight >= envelopeHeight(profile, network);
  const { options = {} } = request;
  const changeScript = request.change === undefined ? sender.script : paidScript(request.change, network);
  const bounds = { mostRate: mostFeeRate, softDust: network.softDust };
  const usualDust = freeAmount(changeScript, { ...network, floor: dustFloor });
  const order: Omit<Order, 'encoding'> = {
    frame,
    magic,
    sender,
    outputs: readPayments(request, network),
    feeOutputs: readQuote(request, network),
    changeScript,
    fee: readFee(request, policy, bounds),
    leastFee: request.fee === undefined && request.feePerKb === undefined ? leastFee(policy, bounds) : undefined,
    limitFee: readFeeLimit(request, { ...bounds, usualDust }),
    dust: { ...network, floor: Math.max(dustFloor, Number(request.dust ?? 0)) },
    sequence: request.rbf ? REPLACEABLE : FINAL
  };
  const encodingFacts: EncodingFacts = {
    frameBytes: frame.length,
    sender,
    relay: policy,
    active: { segwit: nextHeight >= (network.segwitHeight ?? Number.POSITIVE_INFINITY), envelope: isEnvelopeActive },
    signer: { scripts: options.signerSupportsScripts, tapscript: options.signerSupportsTapscript ?? false }
  };
  const planFor = (encoding: Encoding): Plan => ({
    order: { ...order, encoding },
    content,
    isEnvelopeActive,
    warnings: requestWarnings(request, { encoding, sender }, policy, network)
  });
  return { encodingFacts, planFor, isSaying: content !== null };
}

/** Returns the warnings of a request. One that states its signer's abilities gets none about them. */
function requestWarnings(
  request: CreateRequest,
  { encoding, sender }: { readonly encoding: Encoding; readonly sender: Sender },
  policy: NodePolicy,
  { replacesByDefault }: Pick<ChainNetwork, 'replacesByDefault'>
): readonly Warning[] {
  const { options, fee, feePerKb, rbf } = request;
  const hasScripts = encoding === 'P2WSH' || encoding === 'P2SH';
  const isGuessedKey = !options?.signerSupportsScripts && mayBeHalfKnown(sender);
  const isGuess = fee === undefined && feePerKb === undefined && policy.source === 'relay fee';
  return [
    ...unknownParams(request).map((name) => ['UNKNOWN_PARAMETER', name.slice(0, MAX_NAME)] as const),
    ...(raisesRate(request, policy) ? (['FEE_RATE_RAISED'] as const) : []),
    ...(isGuess ? (['NO_FEE_ESTIMATE'] as const) : []),
    ...(rbf ? (['KEEP_FIRST_INPUT'] as const) : []),
    ...(rbf && !replacesByDefault ? (['NODES_REPLACE_NOTHING'] as const) : []),
    ...(hasScripts && !options?.signerSupportsScripts ? (['SIGNER_NEEDS_SCRIPTS'] as const) : []),
    ...(hasScripts && isGuessedKey ? (['KEY_IS_WHOLE'] as const) : []),
    ...(encoding === 'MULTISIGN' && isGuessedKey ? (['OUTPUTS_NEED_KEY'] as const) : [])
  ];
}

function warningsOf(
  { warnings }: Plan,
  { isExact, isLowered }: Pick<Reveal, 'isExact' | 'isLowered'>
): readonly Warning[] {
  if (isLowered) return ['FEE_AS_FUNDED', ...warnings];
  return isExact ? warnings : ['SURPLUS_TO_FEE', ...warnings];
}

/** Checks the composed transactions and writes their PSBTs. */
function describe(plan: Plan, { first, locks, reveal }: Composed<SourcedCoin>): Created {
  const { order } = plan;
  const { sender, encoding } = order;
  const warnings = warningsOf(plan, first);
  const created: Created = {
    ...summary(first, first.coins, reveal?.change ?? 0n),
    psbt: psbtPaying(first.form, firstSpent(sender, first.coins), first.fee),
    encoding,
    txid: sender.isSegwit ? hashId(writeBase(first.form)) : null
  };
  if (!reveal) {
    if (plan.content) refuseBeforeFee(first.form.outputs, order);
    selfCheck(first.form, plan.content, order, laneRules(plan));
    return { ...created, ...warn(warnings) };
  }
  checkReveal(plan, reveal, first.form.outputs);
  const carrierScripts = locks.map(({ inner }) => inner.toString('hex'));
  const envelope = describeEnvelope(reveal.funding);
  if (!sender.isSegwit) return { ...created, carrierScripts, ...envelope, ...warn([...warnings, 'REVEAL_NEEDED']) };
  const revealPsbt = psbtPaying(reveal.form, revealSpent(reveal.funding, writeBase(first.form)), reveal.fee);
  return { ...created, carrierScripts, ...envelope, revealPsbt, revealFee: String(reveal.fee), ...warn(warnings) };
}

function describeEnvelope({ locked: [first] }: Funding): { readonly envelope?: Envelope } {
  const { internalKey, leafHash } = first!.lock;
  if (!internalKey || !leafHash) return {};
  const { vout: commitVout, amount } = first!;
  const [internalPubkey, tapleafHash] = [internalKey, leafHash].map((bytes) => bytes.toString('hex')) as [
    string,
    string
  ];
  return { envelope: { commitVout, commitValue: String(amount), internalPubkey, tapleafHash } };
}

/** Checks a reveal. @param funding outputs of the first transaction */
function checkReveal(plan: Plan, { form }: Reveal, funding: readonly FormOutput[]): void {
  refuseBeforeFee(form.outputs, plan.order);
  selfCheck(form, plan.content, plan.order, laneRules(plan), funding);
}

const laneRules = ({ order: { magic }, isEnvelopeActive }: Plan) => ({ magic, isEnvelopeActive });

/** @param later satoshis that the second transaction gives back */
function summary({ form, fee, change }: Pick<Reveal, 'form' | 'fee' | 'change'>, inputs: readonly Coin[], later = 0n) {
  const held = inputs.reduce((sum, { amount }) => sum + amount, 0n);
  return {
    fee: String(fee),
    total: String(held - (change ?? 0n) - later),
    vsize: virtualSize(form),
    inputs: inputs.map(({ txid, vout }) => ({ txid, vout }))
  };
}

const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
