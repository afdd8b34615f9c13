import type { GasItem } from '../../coin/profile.ts';
import { parseAmount, roundHalfUp } from '../../consensus/amount.ts';

/** Places of a fee in the gas token. */
const PLACES = 8;

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

/** What some gas costs in the gas token. */
export function feeOf(gas: number, { price }: Pick<GasRules, 'price'>): bigint {
  return roundHalfUp(BigInt(gas) * parseAmount(price)!, PLACES);
}
