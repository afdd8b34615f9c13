import { parseAmount } from '../../consensus/amount.ts';

/** One unit of an ownership, which cannot be divided. */
export const ONE = parseAmount('1')!;
/** Count of 10^-18 in a base unit of a coin. */
export const COIN_STEP = 10n ** 10n;
