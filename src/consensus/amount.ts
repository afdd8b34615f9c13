import { PlatformError } from '../errors.ts';

const DECIMALS = 18;
const UNIT = 10n ** BigInt(DECIMALS);

/** Reads a plain decimal with at most 18 places as a count of 10^-18. @returns null when the text is no such number */
export function parseAmount(text: string): bigint | null {
  const match = /^(\d{1,40})(?:\.(\d{1,18}))?$/.exec(text);
  if (!match) return null;
  return BigInt(match[1]!) * UNIT + BigInt((match[2] ?? '').padEnd(DECIMALS, '0'));
}

/**
 * Reads a signed decimal of a database as a count of 10^-18, as long as MariaDB's sums may be: a DECIMAL(65,18) has 47 digits
 * before the point, and a few more are allowed.
 *
 * @returns null for any other value, NULL included
 */
export function parseSum(value: unknown): bigint | null {
  const [, sign, whole, places = ''] = /^(-?)(\d{1,65})(?:\.(\d{1,18}))?$/.exec(String(value)) ?? [];
  if (whole === undefined) return null;
  const amount = BigInt(whole + places.padEnd(DECIMALS, '0'));
  return sign === '-' ? -amount : amount;
}

/** Reads a decimal that was checked when it was written. @throws {PlatformError} INTERNAL for any other text */
export function knownAmount(text: string): bigint {
  const amount = parseAmount(text);
  if (amount === null) throw new PlatformError('INTERNAL', { reason: `${text.slice(0, 80)} is no amount` });
  return amount;
}

/**
 * Reads a decimal with no more places than a token has. With 0 places there is no point. @returns null for any other
 * text
 */
export function parseTokenAmount(text: string, decimals: number): bigint | null {
  const point = text.indexOf('.');
  return point >= 0 && text.length - point - 1 > decimals ? null : parseAmount(text);
}

/** Formats a count of 10^-18 as the shortest plain decimal: `0`, `1.5`, `-0.000000000000000001`. */
export function formatAmount(amount: bigint): string {
  if (amount < 0n) return `-${formatAmount(-amount)}`;
  const whole = (amount / UNIT).toString();
  const rest = amount % UNIT;
  return rest === 0n ? whole : `${whole}.${rest.toString().padStart(DECIMALS, '0').replace(/0+$/, '')}`;
}

/**
 * Returns `amount` times `numerator` over `denominator`, rounded half up to a number of decimal places. None may be
 * negative.
 */
export function multiplyRatio(amount: bigint, numerator: bigint, denominator: bigint, decimals: number): bigint {
  const step = 10n ** BigInt(DECIMALS - decimals);
  const divisor = denominator * step;
  return ((2n * amount * numerator + divisor) / (2n * divisor)) * step;
}

/** Rounds an amount that is not negative half up to a number of decimal places. */
export function roundHalfUp(amount: bigint, decimals: number): bigint {
  return multiplyRatio(amount, 1n, 1n, decimals);
}

/** Returns the product of two amounts that are not negative, cut down to a number of decimal places. */
export function multiplyFloor(a: bigint, b: bigint, decimals: number): bigint {
  const step = 10n ** BigInt(DECIMALS - decimals);
  return ((a * b) / UNIT / step) * step;
}
