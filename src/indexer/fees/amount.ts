import type { GasItem } from '../../coin/profile.ts';
import { parseAmount, roundHalfUp } from '../../consensus/amount.ts';

/** Places of an amount of the gas token, unless the token has fewer. */
export const GAS_PLACES = 8;

/** What gas costs on one network. */
export interface GasRules {
  /** Gas that each item costs. */
  readonly gas: Readonly<Record<GasItem, number>>;
  /** Price of one gas in the gas token, a decimal. */
  readonly price: string;
  /** Who is paid in the chain's coin; undefined where fees are paid in the gas token alone. */
  readonly destination: string | undefined;
  /** Who gets fees in the gas token; undefined where they are destroyed. */
  readonly donation: string | undefined;
}

/** Returns what some gas costs in the gas token. @param places  of that token */
export function feeOf(gas: number, { price }: Pick<GasRules, 'price'>, places = GAS_PLACES): bigint {
  return roundHalfUp(BigInt(gas) * parseAmount(price)!, places);
}
