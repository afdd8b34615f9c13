import { markerScript, multisigScripts, returnScript } from '../../coin/payload/lane-writer.ts';
import { feeIsFunded } from '../../coin/payload/lanes.ts';
import { hashId } from '../../coin/raw/hash-id.ts';
import { type FormInput, type FormOutput, writeBase } from '../../coin/raw/transaction-form.ts';
import { PlatformError } from '../../errors.ts';
import { type DustRules, dustAmount, freeAmount } from './dust.ts';
import type { Encoding } from './encodings.ts';
import { type Lock, locksOf, type TwoStepEncoding } from './locks.ts';
import {
  type Coin,
  type FeeLimit,
  type FeeRule,
  isRelayable,
  type Selected,
  type Settled,
  selectCoins,
  settle
} from './select-coins.ts';
import type { Sender } from './sender.ts';

/** Remedy for a fee of the protocol that no node relays: ledgers take a greater one too, and the rest of it stays with who is paid. */
const FEE_IS_DUST = '. Ledgers take more than they ask for: send that as the amount of feeQuote';
/** Placeholder for a transaction id that is not known yet. */
const ANY_TXID = '11'.repeat(32);

/** The content and payments of a transaction, and its sender. */
export interface Order {
  readonly encoding: Encoding;
  /** Empty for a transaction that only pays. */
  readonly frame: Uint8Array;
  readonly magic: string;
  readonly sender: Sender;
  /** Outputs that belong to the action. In two steps the second transaction has them. */
  readonly outputs: readonly FormOutput[];
  /** The protocol's fee outputs. For an envelope the first transaction of two pays them. @see feeIsFunded */
  readonly feeOutputs: readonly FormOutput[];
  readonly changeScript: Uint8Array;
  readonly fee: FeeRule;
  /**
   * Least fee of a reveal, used when the caller named no fee and the first transaction left less than the usual fee by
   * now.
   */
  readonly leastFee?: FeeRule | undefined;
  /** Called for a transaction without change. */
  readonly limitFee: FeeLimit;
  readonly dust: DustRules;
  readonly sequence: number;
}

/** Locked outputs of a transaction that exists or is planned. */
export interface Funding {
  readonly txid: string;
  readonly locked: readonly { readonly vout: number; readonly amount: bigint; readonly lock: Lock }[];
}

/** The transaction that spends locked outputs and reveals their data. */
export interface Reveal extends Settled {
  readonly funding: Funding;
  /** Whether it pays all that the first transaction left, because that is below the usual fee by now. */
  readonly isLowered?: boolean;
}

/** The transactions that carry an action. */
export interface Composed<C extends Coin> {
  /** The only transaction, or the one that funds the reveal. */
  readonly first: Selected<C>;
  readonly locks: readonly Lock[];
  /**
   * Null in one step. When signing will change the first transaction's id, the reveal spends a placeholder and shows
   * only its size.
   */
  readonly reveal: Reveal | null;
}

/**
 * Composes the unsigned transactions of an order.
 *
 * @param coins as `selectCoins` takes them
 * @throws {PlatformError} COINS_INSUFFICIENT, REQUEST_INVALID for outputs below dust, and the errors of `limitFee`
 */
export function compose<C extends Coin>(order: Order, coins: readonly C[]): Composed<C> {
  refuseDust(order.outputs, order.dust);
  refuseDust(order.feeOutputs, order.dust, FEE_IS_DUST);
  const { encoding } = order;
  if (encoding !== 'OP_RETURN' && encoding !== 'MULTISIGN') return composeTwoSteps({ ...order, encoding }, coins);
  const outputsFor = (txid: string) => [...dataOutputs(order, txid), ...order.outputs, ...order.feeOutputs];
  return { first: select(order, coins, outputsFor), locks: [], reveal: null };
}

/**
 * Composes the reveal of a first transaction that exists. @throws {PlatformError} COINS_INSUFFICIENT, REQUEST_INVALID for a
 * payment that every node refuses as dust, and the errors of `limitFee`
 */
export function composeReveal(order: Order, funding: Funding): Reveal {
  // A DUST_AMOUNT that rose since the first call keeps nobody from what it locked.
  refuseDust(splitOutputs(order).reveal, { ...order.dust, floor: 0 });
  const { inputs, outputs } = revealParts(order, funding);
  const held = funding.locked.reduce((sum, { amount }) => sum + amount, 0n);
  const paid = splitOutputs(order).reveal.reduce((sum, { amount }) => sum + amount, 0n);
  const settled = settle(inputs, outputs, held - paid, changeOf(order));
  if (settled) {
    if (!settled.isExact) order.limitFee(settled.form, settled.fee);
    return { ...settled, funding };
  }
  const { changeScript, changeDust } = changeOf(order);
  const plain = { inputs, outputs };
  const changed = { inputs, outputs: [...outputs, { amount: changeDust, script: changeScript }] };
  // An envelope without payments has no output but change.
  const [form, change] = isRelayable(plain) ? [plain, null] : [changed, changeDust];
  const least = order.leastFee?.(form);
  const fee = held - paid - (change ?? 0n);
  if (least !== undefined && fee >= least && isRelayable(form))
    return { form, fee, change, isExact: true, isLowered: true, funding };
  const needed = least === undefined ? '' : `; the node takes no less than ${least} for it`;
  const reason = `the first transaction left ${held} satoshis, which do not pay for the second one at this fee${needed}`;
  throw new PlatformError('COINS_INSUFFICIENT', { reason });
}

/**
 * Returns the satoshis that a first transaction holds beyond what this order would lock: the first call had other payments or
 * another fee rate. It is at most 0 where it holds no more.
 */
export function surplusOf(order: Order, { locked }: Funding): bigint {
  const held = locked.reduce((sum, { amount }) => sum + amount, 0n);
  const needed = fundingAmounts(
    order,
    locked.map(({ lock }) => lock)
  );
  return needed.reduce((left, amount) => left - amount, held);
}

/** Returns the locks of an order in two steps. */
export function orderLocks({ encoding, frame, sender, magic }: Order & { encoding: TwoStepEncoding }): readonly Lock[] {
  return locksOf(encoding, frame, sender, magic);
}

function composeTwoSteps<C extends Coin>(order: Order & { encoding: TwoStepEncoding }, coins: readonly C[]) {
  const locks = orderLocks(order);
  const amounts = fundingAmounts(order, locks);
  const funded = locks.map(({ script }, position) => ({ amount: amounts[position]!, script }));
  const first = select(order, coins, () => [...funded, ...splitOutputs(order).funding]);
  const txid = order.sender.isSegwit ? hashId(writeBase(first.form)) : ANY_TXID;
  const locked = locks.map((lock, vout) => ({ vout, amount: amounts[vout]!, lock }));
  return { first, locks, reveal: composeReveal(order, { txid, locked }) };
}

/**
 * Returns the amount of each locked output. Together they pay the exact cost of the reveal, or enough more that its
 * change is not dust. A reveal that pays never takes about what the same one takes without payments: a second call that
 * forgets them must be found out.
 */
function fundingAmounts(order: Order, locks: readonly Lock[]): readonly bigint[] {
  const least = locks.map(({ script }) => freeAmount(script, order.dust));
  const leastTotal = least.reduce((sum, amount) => sum + amount, 0n);
  const locked = locks.map((lock, vout) => ({ vout, amount: 0n, lock }));
  const { inputs, outputs } = revealParts(order, { txid: ANY_TXID, locked });
  const paid = splitOutputs(order).reveal.reduce((sum, { amount }) => sum + amount, 0n);
  const { changeScript, changeDust, fee } = changeOf(order);
  const exact = paid + fee({ inputs, outputs });
  const changed = { inputs, outputs: [...outputs, { amount: changeDust, script: changeScript }] };
  const withChange = paid + fee(changed) + changeDust;
  const isExact = isRelayable({ inputs, outputs }) && leastTotal <= exact;
  const usual = isExact ? exact : leastTotal > withChange ? leastTotal : withChange;
  const isAlike = paid > 0n && 2n * distance(usual, unpayingTotal(order, locks)) < changeDust;
  const more = isExact ? withChange : usual + changeDust;
  const total = isAlike ? more : usual;
  return [least[0]! + total - leastTotal, ...least.slice(1)];
}

/** Returns what the locks of an order hold together where its second transaction pays nothing. */
function unpayingTotal(order: Order, locks: readonly Lock[]): bigint {
  const unpaying = { ...order, outputs: [], feeOutputs: splitOutputs(order).funding };
  return fundingAmounts(unpaying, locks).reduce((sum, amount) => sum + amount, 0n);
}

const distance = (a: bigint, b: bigint) => (a > b ? a - b : b - a);

/** Returns the outputs, beside the locks, by which the first transaction of two pays the protocol's fee. */
export function fundedOutputs(order: Order): readonly FormOutput[] {
  return splitOutputs(order).funding;
}

/** Splits the payments between the two transactions, where decoders look for them. @see feeIsFunded */
function splitOutputs({ encoding, outputs, feeOutputs }: Order) {
  return feeIsFunded(encoding === 'TAPROOT' ? 'envelope' : 'chunks')
    ? { funding: feeOutputs, reveal: outputs }
    : { funding: [], reveal: [...outputs, ...feeOutputs] };
}

function revealParts(order: Order, { txid, locked }: Funding) {
  const { encoding, sequence, magic } = order;
  const inputs: FormInput[] = locked.map(({ vout, lock }) => ({ txid, vout, sequence, unlock: lock.unlock }));
  const marker = encoding === 'TAPROOT' ? [] : [markerScript(txid, encoding === 'P2SH' ? 'p2sh' : 'p2wsh', magic)];
  return { inputs, outputs: [...marker.map((script) => ({ amount: 0n, script })), ...splitOutputs(order).reveal] };
}

/** Returns the outputs that carry the frame themselves. */
function dataOutputs({ encoding, frame, sender, magic, dust }: Order, firstTxid: string): readonly FormOutput[] {
  if (frame.length === 0) return [];
  const scripts =
    encoding === 'OP_RETURN'
      ? [returnScript(firstTxid, frame, magic)]
      : multisigScripts(firstTxid, frame, sender.publicKey!, magic);
  return scripts.map((script) => ({ amount: freeAmount(script, dust), script }));
}

function select<C extends Coin>(
  order: Order,
  coins: readonly C[],
  outputsFor: (firstTxid: string) => readonly FormOutput[]
): Selected<C> {
  const { sender, sequence } = order;
  const inputOf = ({ txid, vout }: Coin): FormInput => ({ txid, vout, sequence, unlock: sender.unlock });
  const selected = selectCoins(coins, { ...changeOf(order), outputsFor, inputOf });
  if (!selected.isExact) order.limitFee(selected.form, selected.fee);
  return selected;
}

function changeOf({ changeScript, fee, dust }: Order) {
  return { changeScript, fee, changeDust: freeAmount(changeScript, dust) };
}

/** @param remedy text behind the reason */
function refuseDust(outputs: readonly FormOutput[], dust: DustRules, remedy = ''): void {
  for (const { amount, script } of outputs) {
    const least = dustAmount(script, dust);
    if (amount >= least) continue;
    const reason = `an output of ${amount} satoshis is dust: it must have at least ${least}${remedy}`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
}
