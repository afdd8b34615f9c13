import { parseAmount } from '../../consensus/amount.ts';
import { PlatformError } from '../../errors.ts';

/** Parts of a fee; prices are decimals, null if none is known. */
interface FeeParts {
  readonly gasCost: number;
  /** Price of one gas, in the gas token. */
  readonly gasPrice: string;
  /** Price of one gas token. */
  readonly gasTokenUsd: string | null;
  /** Price of one coin. */
  readonly coinUsd: string | null;
  /** Ticker of the coin that may pay instead. */
  readonly coin: string;
}

/** Amounts of a fee, as decimals with 8 places; an unknown amount is absent. */
interface FeeAmounts {
  readonly gasTokenAmount: string;
  readonly gasTokenUsd: string | null;
  readonly feeUsd?: string;
  readonly coinUsd?: string;
  readonly nativeCoinAmount?: string;
  readonly nativeCoin?: string;
}

const UNIT = 10n ** 18n;
const STEP = 10n ** 10n;

/** Returns the amounts of a fee, rounded up: what is quoted is never too little. A fee of nothing needs no price. */
export function feeAmounts({ gasCost, gasPrice, gasTokenUsd, coinUsd, coin }: FeeParts): FeeAmounts {
  const amount = roundUp(BigInt(gasCost) * amountOf(gasPrice));
  const perToken = priceOf(gasTokenUsd);
  const perCoin = priceOf(coinUsd);
  const usd = amount === 0n ? 0n : perToken && amount * perToken;
  const native = amount === 0n ? 0n : usd !== null && perCoin ? divideUp(usd, perCoin) : null;
  return {
    gasTokenAmount: fixed(amount),
    gasTokenUsd,
    ...(usd === null ? {} : { feeUsd: fixed(roundUp(divideUp(usd, UNIT))) }),
    ...(coinUsd === null ? {} : { coinUsd }),
    ...(native === null ? {} : { nativeCoinAmount: fixed(roundUp(native)), nativeCoin: coin })
  };
}

function amountOf(gasPrice: string): bigint {
  const amount = parseAmount(gasPrice);
  if (amount === null) throw new PlatformError('INTERNAL', { reason: `the gas price ${gasPrice} is no amount` });
  return amount;
}

/** Reads a price; null for one that is none, such as 0. */
function priceOf(text: string | null): bigint | null {
  return (text === null ? null : parseAmount(text)) || null;
}

const divideUp = (amount: bigint, by: bigint): bigint => (amount + by - 1n) / by;
const roundUp = (amount: bigint): bigint => divideUp(amount, STEP) * STEP;
const fixed = (amount: bigint): string => `${amount / UNIT}.${((amount % UNIT) / STEP).toString().padStart(8, '0')}`;
