import type { GasItem } from '../../coin/profile.ts';
import { parseAmount, roundHalfUp } from '../../consensus/amount.ts';

/** Decimals of an amount of the gas token, unless the token has fewer. */
export const GAS_PLACES = 8;

/** Prices of gas on one network. */
export interface GasRules {
  /** Gas that each item costs. */
  readonly gas: Readonly<Record<GasItem, number>>;
  /** Price of one gas in the gas token, a decimal. */
  readonly price: string;
  /** Address that is paid in the chain's coin; undefined where fees are paid in the gas token alone. */
  readonly destination: string | undefined;
  /** Address that gets fees in the gas token; undefined where they are destroyed. */
  readonly donation: string | undefined;
}

/** Returns the price of some gas in the gas token. @param places decimals of that token */
export function feeOf(gas: number, { price }: Pick<GasRules, 'price'>, places = GAS_PLACES): bigint {
  return roundHalfUp(BigInt(gas) * parseAmount(price)!, places);
}
