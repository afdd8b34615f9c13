import type { ChainNetwork } from './chains.ts';
import { activationHeight, type Profile } from './profile.ts';

/** Chain whose ledger holds the price rounds: its validators write them. */
export const PRICE_CHAIN = 'bitcoin';

/**
 * Least age, in seconds of median time, of prices that a block of another chain uses. A reorg of the price chain that
 * is not deeper changes no price already used.
 */
export const PRICE_SETTLEMENT_S = 14_400;

/** Returns whether actions cost gas under a profile. */
export function costsGas({ gas, gasPrice }: Pick<Profile, 'gas' | 'gasPrice'>): boolean {
  return Number(gasPrice) > 0 && Object.values(gas).some((cost) => cost > 0);
}

/** Returns whether a network's ledger needs prices from the ledger of another chain. */
export function needsForeignPrices(profile: Profile, network: ChainNetwork): boolean {
  if (network.chain === PRICE_CHAIN) return false;
  return costsGas(profile) || Number.isFinite(activationHeight(profile, network, 'FIAT_DISPENSERS'));
}
