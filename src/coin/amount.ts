/** Decimal places of a coin on every chain of the registry. */
const COIN_DECIMALS = 8;

const DECIMAL = /^(\d{1,20})(?:\.(\d{1,20}))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * Converts a coin amount as nodes print it (`0.5`, `50.00000000`, `1e-08`) to base units, without floating point.
 *
 * @throws {RangeError} when it is not an amount, or finer than a base unit
 */
export function toBaseUnits(amount: string | number): bigint {
  const [, whole, fraction = '', exponent = '0'] = DECIMAL.exec(String(amount)) ?? [];
  if (whole === undefined) throw new RangeError(`not an amount: ${String(amount).slice(0, 40)}`);
  const places = fraction.length - Number(exponent) - COIN_DECIMALS;
  const digits = BigInt(whole + fraction);
  if (places <= 0) return digits * 10n ** BigInt(-places);
  const divisor = 10n ** BigInt(places);
  if (digits % divisor !== 0n) throw new RangeError(`finer than a base unit: ${amount}`);
  return digits / divisor;
}

/** Converts base units to the text that nodes read: `0.50000000`. */
export function toDecimal(baseUnits: bigint): string {
  const digits = String(baseUnits).padStart(COIN_DECIMALS + 1, '0');
  return `${digits.slice(0, -COIN_DECIMALS)}.${digits.slice(-COIN_DECIMALS)}`;
}
