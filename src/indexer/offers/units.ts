import { parseAmount } from '../../consensus/amount.ts';

/** One unit of what cannot be parted: an ownership. */
export const ONE = parseAmount('1')!;
