import { type GasSubject, gasOf } from '../../coin/gas.ts';
import { formatAmount } from '../../consensus/amount.ts';
import { feeOf } from '../profile/gas.ts';
import type { Rules } from '../profile/rules.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';
import { tickKey } from '../state/keys.ts';
import type { Output, OutputsPaid, PaidFee } from '../state/payment.ts';
import type { Token } from '../state/token.ts';
import { gasPlaces } from './gas-places.ts';
import { coinPrices, nativeFee, OLDEST_PRICE_S } from './native.ts';
import { priceTime, roundsOf } from './rounds.ts';

/** Gas items of a valid leg. */
export interface Charged extends GasSubject {
  /** Units of the gas token that the leg also takes from its source. */
  readonly spends?: bigint;
}

/** Action with the outputs of its transaction, for the fee. */
interface FeeStep {
  readonly action: Action;
  readonly ledger: Effects;
  readonly rules: Rules;
  readonly payment: OutputsPaid;
}

const PREFERENCE = { destroy: 1, donate: 2 } as const;
const NATIVE_MODE = 1;
const BALANCE_MODE = 2;
const FEE_VERSION = 2;

/**
 * Statuses of a leg that only its fee refuses, in the order of the checks; `X` stands for a ticker, letters for
 * amounts.
 */
export const FEE_STATUSES = [
  'insufficient fee (native coin output required)',
  'insufficient funds (FEE)',
  'fee output has zero value',
  `no current oracle price for X/USD (missing or stale beyond ${OLDEST_PRICE_S}s)`,
  'invalid oracle price for X/USD',
  'insufficient native coin fee (paid: a, expected: b, min: c)'
] as const;

/** Takes the fee of a leg that is valid otherwise. @returns the status of its refusal, and then nothing was taken */
export function chargeFee(charged: Charged, step: FeeStep): string | undefined {
  const { action, rules } = step;
  const gas = gasOf(rules.fees, action.name, charged);
  const amount = gas === 0 ? 0n : feeOf(gas, rules.fees, gasPlaces(step));
  if (amount === 0n) return undefined;
  const output = feeOutput(step);
  if (output) return payNative(output, { gas, amount }, step);
  if (rules.fees.destination !== undefined && rules.coin !== 'BTC')
    return 'insufficient fee (native coin output required)';
  return payBalance({ gas, amount, spends: charged.spends ?? 0n }, step);
}

/** Returns the amount of the gas token that a leg takes when it takes an amount of a token. */
export function spent(
  { tick }: Pick<Token, 'tick'>,
  amount: bigint,
  { rules }: Pick<FeeStep, 'rules'>
): { readonly spends: bigint } {
  return { spends: tickKey(tick) === tickKey(rules.gasTick) ? amount : 0n };
}

/** Returns whether the fees of an action are paid in the gas token. */
export function paysInGas(step: FeeStep): boolean {
  return feeOutput(step) === undefined;
}

function feeOutput({ payment, rules }: FeeStep): Output | undefined {
  return payment.outputs.find(({ address }) => address === rules.fees.destination);
}

interface Due {
  readonly gas: number;
  readonly amount: bigint;
}

function payBalance({ gas, amount, spends }: Due & { readonly spends: bigint }, step: FeeStep): string | undefined {
  const { action, ledger, rules } = step;
  const token = ledger.token(rules.gasTick);
  if (token === null || ledger.balance(token.tick, action.source) < amount + spends) return 'insufficient funds (FEE)';
  const preference = preferenceOf(step);
  const destination = preference === PREFERENCE.destroy ? undefined : rules.fees.donation;
  ledger.debit(token, action.source, amount);
  if (destination !== undefined) ledger.credit(token, destination, amount);
  note(ledger, { gas, amount, preference, destination, native: null });
  return undefined;
}

function payNative({ vout, amount: paid, address }: Output, { gas, amount }: Due, step: FeeStep): string | undefined {
  const { ledger, rules, payment } = step;
  if (paid === 0n) return 'fee output has zero value';
  const prices = coinPrices(roundsOf(step), { rules, at: priceTime(step) });
  if (typeof prices === 'string') return prices;
  const { expected, least } = nativeFee(amount, prices);
  const spentKey = `${payment.txid}|${vout}`;
  const spent = ledger.get('spent', spentKey);
  const left = paid - spent;
  if (left < least) {
    const [a, b, c] = [left, expected, least].map(formatAmount);
    return `insufficient native coin fee (paid: ${a}, expected: ${b}, min: ${c})`;
  }
  const used = left < expected ? left : expected;
  ledger.set('spent', spentKey, spent + used);
  const native = { amount: used, round: prices.round };
  note(ledger, { gas, amount, preference: preferenceOf(step), destination: address, native });
  return undefined;
}

/** Returns the fee preference of a source. A source without a preference donates. */
function preferenceOf({ action, ledger }: FeeStep): number {
  return ledger.preferences(action.source)?.fee === PREFERENCE.destroy ? PREFERENCE.destroy : PREFERENCE.donate;
}

/** Adds a fee to that of the action. The legs of one action have one row. */
function note(ledger: Effects, fee: PaidFee): void {
  const before = ledger.fee;
  const native = fee.native && { ...fee.native, amount: fee.native.amount + (before?.native?.amount ?? 0n) };
  ledger.fee = { ...fee, native, gas: fee.gas + (before?.gas ?? 0), amount: fee.amount + (before?.amount ?? 0n) };
}

/** Writes the row of the fee that an action has paid. */
export function recordFee(actionIndex: number, { rules, ledger }: Pick<FeeStep, 'rules' | 'ledger'>): void {
  const { fee } = ledger;
  if (!fee) return;
  ledger.record('fees', {
    action_index: actionIndex,
    tick_id: rules.gasTick,
    amount: formatAmount(fee.amount),
    method: fee.native || fee.destination !== undefined ? PREFERENCE.donate : PREFERENCE.destroy,
    destination_id: fee.destination ?? null,
    gas_cost: fee.gas,
    gas_price: rules.fees.price,
    xchain_amount: formatAmount(fee.amount),
    payment_mode: fee.native ? NATIVE_MODE : BALANCE_MODE,
    native_coin_amount: fee.native ? formatAmount(fee.native.amount) : null,
    native_coin: fee.native ? rules.coin : null,
    oracle_round: fee.native?.round ?? null,
    fee_preference: fee.preference,
    status_id: 'valid',
    fee_version: FEE_VERSION
  });
}
