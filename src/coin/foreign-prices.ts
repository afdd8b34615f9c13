import type { ChainNetwork } from './chains.ts';
import { activationHeight, type Profile } from './profile.ts';

/** The chain whose ledger has the rounds of prices: validators stake there and write them there. */
export const PRICE_CHAIN = 'bitcoin';

/**
 * Seconds of median time by which the prices of a block of another chain are older than the block: a reorg of the chain with the
 * prices that is not deeper than that changes nothing that was used.
 */
export const PRICE_SETTLEMENT_S = 14_400;

/** Returns whether actions cost gas under a profile. */
export function costsGas({ gas, gasPrice }: Pick<Profile, 'gas' | 'gasPrice'>): boolean {
  return Number(gasPrice) > 0 && Object.values(gas).some((cost) => cost > 0);
}

/** Returns whether the ledger of a network needs prices that stand in the ledger of another chain. */
export function needsForeignPrices(profile: Profile, network: ChainNetwork): boolean {
  if (network.chain === PRICE_CHAIN) return false;
  return costsGas(profile) || Number.isFinite(activationHeight(profile, network, 'FIAT_DISPENSERS'));
}
