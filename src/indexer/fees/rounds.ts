import { PRICE_SETTLEMENT_S } from '../../coin/foreign-prices.ts';
import { knownAmount } from '../../consensus/amount.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';
import { type PriceRound, RECENT_ROUNDS } from '../state/facts.ts';

/** Action and ledger from which the rounds that count follow. */
interface PricedStep {
  readonly action: Action;
  readonly ledger: Effects;
}

/** Time for which a round counts for payments of a price in a currency, in seconds. */
const WINDOW_S = 86_400;

/** Returns the rounds of prices that count in a block, the highest number first. */
export function roundsOf({ action, ledger }: PricedStep): readonly PriceRound[] {
  return action.block.rounds ?? ledger.get('rounds', RECENT_ROUNDS);
}

/**
 * Returns the time from which the age of a price is counted, in epoch seconds. Prices of another chain count from their
 * settlement.
 */
export function priceTime({ action: { block } }: Pick<PricedStep, 'action'>): number {
  return block.rounds === undefined ? block.time : block.time - PRICE_SETTLEMENT_S;
}

/** Prices of one pair and time, by rounds: payments ask for the same again and again. */
const known = new WeakMap<readonly PriceRound[], Map<string, readonly bigint[]>>();

/**
 * Returns the prices of a coin in a currency that count for payments: those of the last day that are above every newer
 * one, so the lowest first. The first price that suffices is that of the newest round that suffices.
 */
export function paymentPrices(coin: string, fiat: string, step: PricedStep): readonly bigint[] {
  const rounds = roundsOf(step);
  const time = priceTime(step);
  const pair = `${coin}/${fiat}`;
  const ofRounds = known.get(rounds) ?? new Map<string, readonly bigint[]>();
  known.set(rounds, ofRounds);
  const key = `${pair} ${time}`;
  const found = ofRounds.get(key) ?? risingPrices(rounds, pair, time - WINDOW_S);
  if (!ofRounds.has(key)) forgetOthers(ofRounds, time);
  ofRounds.set(key, found);
  return found;
}

function risingPrices(rounds: readonly PriceRound[], pair: string, since: number): readonly bigint[] {
  const prices: bigint[] = [];
  for (const { timestamp, pairs } of rounds) {
    const text = timestamp < since ? undefined : pairs.find((one) => one.pair === pair)?.price;
    if (text === undefined) continue;
    const price = knownAmount(text);
    if (price > (prices.at(-1) ?? 0n)) prices.push(price);
  }
  return prices;
}

/** Forgets the prices at other times: they are not asked for again, and blocks of one time share theirs. */
function forgetOthers(ofRounds: Map<string, unknown>, time: number): void {
  for (const key of ofRounds.keys()) if (!key.endsWith(` ${time}`)) ofRounds.delete(key);
}
