import { parseTokenAmount } from '../../consensus/amount.ts';
import { GAS_PLACES } from '../profile/gas.ts';
import type { Rules } from '../profile/rules.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';

/** Ledger and rules from which the decimals of the gas token follow. */
interface GasStep {
  readonly action: Action;
  readonly ledger: Effects;
  readonly rules: Rules;
}

/**
 * Returns the decimals of an amount of the gas token. In blocks below EXACT_AMOUNTS they are 8, however few the token
 * has.
 */
export function gasPlaces({ action, ledger, rules }: GasStep): number {
  if (!rules.isActive('EXACT_AMOUNTS', action.block.height)) return GAS_PLACES;
  return Math.min(GAS_PLACES, ledger.token(rules.gasTick)?.decimals ?? GAS_PLACES);
}

/** Reads an amount of the gas token; null for any other text. */
export function readGas(text: string, step: GasStep): bigint | null {
  return parseTokenAmount(text, gasPlaces(step));
}

/** Returns an amount of the gas token, cut down to its decimals. */
export function floorGas(amount: bigint, step: GasStep): bigint {
  return amount - (amount % 10n ** BigInt(18 - gasPlaces(step)));
}
