import { type FormInput, type FormOutput, type TransactionForm, writeBase } from '../../coin/raw/transaction-form.ts';
import { PlatformError } from '../../errors.ts';

/** Returns the fee of a transaction in satoshis. */
export interface FeeRule {
  (form: TransactionForm): bigint;
  /** The fee where it is the same for any transaction. */
  readonly whole?: bigint;
}

/**
 * Refuses a fee that a transaction pays because its remainder is too small for change. @throws {PlatformError}
 * REQUEST_INVALID
 */
export type FeeLimit = (form: TransactionForm, paid: bigint) => void;

/** An unspent output. */
export interface Coin {
  readonly txid: string;
  readonly vout: number;
  /** Satoshis. */
  readonly amount: bigint;
}

/** Outputs, fee and change that coins must pay for. */
interface Payment {
  /** Returns the outputs. The txid of the first input's coin is the key that obfuscates their data. */
  readonly outputsFor: (firstTxid: string) => readonly FormOutput[];
  readonly inputOf: (coin: Coin) => FormInput;
  readonly fee: FeeRule;
  readonly changeScript: Uint8Array;
  /** Least amount of change, in satoshis. */
  readonly changeDust: bigint;
}

/** Least bytes of a transaction without witnesses that nodes relay. @see CVE-2017-12842 */
const LEAST_BASE_BYTES = 82;

/** Returns whether a transaction has outputs and is large enough to be relayed. */
export function isRelayable(form: TransactionForm): boolean {
  return form.outputs.length > 0 && writeBase(form).length >= LEAST_BASE_BYTES;
}

/** A transaction with its fee. */
export interface Settled {
  readonly form: TransactionForm;
  readonly fee: bigint;
  /** Satoshis of the last output; null without change. */
  readonly change: bigint | null;
  /** Whether the fee equals the one asked for. */
  readonly isExact: boolean;
}

/** A settled transaction with the coins that it spends. */
export interface Selected<C extends Coin> extends Settled {
  readonly coins: readonly C[];
}

/** Most inputs of one transaction. */
export const MAX_INPUTS = 500;

/**
 * Takes coins in their order until they pay outputs and fee. The first coin stays the first input.
 *
 * When the remainder is too small for change, takes another coin; without one, the remainder goes to the miner.
 *
 * @param coins largest first, or in the caller's order
 * @throws {PlatformError} COINS_INSUFFICIENT
 */
export function selectCoins<C extends Coin>(coins: readonly C[], payment: Payment): Selected<C> {
  const [first] = coins;
  if (!first) throw nothingToSpend(payment);
  const outputs = payment.outputsFor(first.txid);
  const paid = outputs.reduce((sum, { amount }) => sum + amount, 0n);
  const inputs: FormInput[] = [];
  let total = 0n;
  // Each further input raises the fee: below this total the next fee need not be computed.
  let least = paid;
  let leftOver: Selected<C> | undefined;
  for (const [position, coin] of coins.slice(0, MAX_INPUTS).entries()) {
    inputs.push(payment.inputOf(coin));
    total += coin.amount;
    if (total < least) continue;
    const fits = settle(inputs, outputs, total - paid, payment);
    if (fits) {
      const selected = { coins: coins.slice(0, position + 1), ...fits };
      if (fits.isExact) return selected;
      leftOver ??= selected;
    } else least = paid + payment.fee({ inputs, outputs });
  }
  if (leftOver) return leftOver;
  const fee = payment.fee({ inputs, outputs });
  const missing = paid + fee - total;
  const reason = `the coins of the address hold ${total} satoshis that can be spent now; ${paid + fee} are needed, ${missing} more`;
  throw new PlatformError('COINS_INSUFFICIENT', { reason, ...amountsOf({ available: total, outputs: paid, fee }) });
}

/** Returns what an error tells of coins that do not suffice, in satoshis. */
export function amountsOf({ available, outputs, fee }: Readonly<Record<'available' | 'outputs' | 'fee', bigint>>) {
  return {
    required: satoshis(outputs + fee),
    available: satoshis(available),
    outputs: satoshis(outputs),
    fee: satoshis(fee)
  };
}

/** Returns an amount as a number; as text where numbers are no longer exact. */
export const satoshis = (amount: bigint): number | string =>
  amount <= Number.MAX_SAFE_INTEGER ? Number(amount) : String(amount);

/** Returns the error for no coins; the amounts assume one input. */
function nothingToSpend({ outputsFor, inputOf, fee: feeOf }: Payment): PlatformError {
  const coin = { txid: '00'.repeat(32), vout: 0, amount: 0n };
  const outputs = outputsFor(coin.txid);
  // Whether a whole fee is too high shows with the coins that it is paid for.
  const fee = feeOf.whole ?? feeOf({ inputs: [inputOf(coin)], outputs });
  const paid = outputs.reduce((sum, { amount }) => sum + amount, 0n);
  const reason = `the address has no coin that can be spent now; ${paid + fee} satoshis are needed`;
  return new PlatformError('COINS_INSUFFICIENT', { reason, ...amountsOf({ available: 0n, outputs: paid, fee }) });
}

/**
 * Completes a transaction with change when that is worth it; undefined when the coins are too few.
 *
 * @param left satoshis of the inputs beyond the outputs
 */
export function settle(
  taken: readonly FormInput[],
  outputs: readonly FormOutput[],
  left: bigint,
  { fee, changeScript, changeDust }: Pick<Payment, 'fee' | 'changeScript' | 'changeDust'>
): Settled | undefined {
  const inputs = [...taken];
  const plain = { inputs, outputs };
  const plainFee = fee(plain);
  if (left < plainFee) return undefined;
  const changed = { inputs, outputs: [...outputs, { amount: changeDust, script: changeScript }] };
  const change = left - fee(changed);
  if (change < changeDust) {
    if (!isRelayable(plain)) return undefined;
    return { form: plain, fee: left, change: null, isExact: left === plainFee };
  }
  const form = { inputs, outputs: [...outputs, { amount: change, script: changeScript }] };
  return { form, fee: left - change, change, isExact: true };
}
