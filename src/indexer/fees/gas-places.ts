import { parseTokenAmount } from '../../consensus/amount.ts';
import type { Rules } from '../rules/rules.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';
import { GAS_PLACES } from './amount.ts';

/** What tells how fine the gas token is. */
interface GasStep {
  readonly action: Action;
  readonly ledger: Effects;
  readonly rules: Rules;
}

/** Returns the places of an amount of the gas token; 8 in blocks below EXACT_AMOUNTS, however few it has. */
export function gasPlaces({ action, ledger, rules }: GasStep): number {
  if (!rules.isActive('EXACT_AMOUNTS', action.block.height)) return GAS_PLACES;
  return Math.min(GAS_PLACES, ledger.token(rules.gasTick)?.decimals ?? GAS_PLACES);
}

/** Returns an amount of the gas token; null for a text that is none. */
export function readGas(text: string, step: GasStep): bigint | null {
  return parseTokenAmount(text, gasPlaces(step));
}

/** Returns an amount of the gas token cut down to its places. */
export function floorGas(amount: bigint, step: GasStep): bigint {
  return amount - (amount % 10n ** BigInt(18 - gasPlaces(step)));
}
