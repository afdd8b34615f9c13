import { PlatformError } from '../../errors.ts';

const PLACES = 18;
/** Text of a DECIMAL(65,18) of MariaDB. The pattern allows a few more digits. */
const DECIMAL = /^(-?)(\d{1,65})(?:\.(\d{1,18}))?$/;
const WHOLE = /^-?\d{1,15}$/;

/**
 * Reads a signed decimal of the database, as long as MariaDB's sums may be, as a count of 10^-18.
 *
 * @throws {PlatformError} LEDGER_INSANE for any other value, NULL included
 */
export function readDecimal(value: unknown): bigint {
  const [, sign, whole, places = ''] = DECIMAL.exec(String(value)) ?? [];
  if (whole === undefined) return refuse(value, 'an amount');
  const amount = BigInt(whole + places.padEnd(PLACES, '0'));
  return sign === '-' ? -amount : amount;
}

/** Reads a signed decimal as a count of 10^-18; NULL is 0. @throws {PlatformError} LEDGER_INSANE for any other value */
export function readDecimalOr0(value: unknown): bigint {
  return value == null ? 0n : readDecimal(value);
}

/** Reads a whole number of the database. @throws {PlatformError} LEDGER_INSANE for any other value, NULL included */
export function readWhole(value: unknown): number {
  return WHOLE.test(String(value)) ? Number(value) : refuse(value, 'a whole number');
}

/** Reads a whole number of the database; NULL stays null. @throws {PlatformError} LEDGER_INSANE for any other value */
export function readWholeOrNull(value: unknown): number | null {
  return value == null ? null : readWhole(value);
}

function refuse(value: unknown, wanted: string): never {
  const found = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80);
  throw new PlatformError('LEDGER_INSANE', { reason: `the database has ${found} where ${wanted} is expected` });
}
