import { parseAmount } from '../../consensus/amount.ts';

/** One unit of what cannot be parted: an ownership. */
export const ONE = parseAmount('1')!;
/** Counts of 10^-18 in a base unit of a coin. */
export const COIN_STEP = 10n ** 10n;
