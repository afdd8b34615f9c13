import { PlatformError } from '../../errors.ts';

const PLACES = 18;
/** What MariaDB prints of a DECIMAL(65,18), and a little more. */
const DECIMAL = /^(-?)(\d{1,65})(?:\.(\d{1,18}))?$/;
const WHOLE = /^-?\d{1,15}$/;

/**
 * A signed decimal of the database as a count of 10^-18, of any length that MariaDB adds up.
 *
 * @throws {PlatformError} LEDGER_INSANE for what is none, NULL included
 */
export function readDecimal(value: unknown): bigint {
  const [, sign, whole, places = ''] = DECIMAL.exec(String(value)) ?? [];
  if (whole === undefined) return refuse(value, 'an amount');
  const amount = BigInt(whole + places.padEnd(PLACES, '0'));
  return sign === '-' ? -amount : amount;
}

/** The same where NULL is nothing. @throws {PlatformError} LEDGER_INSANE for any other text */
export function readDecimalOr0(value: unknown): bigint {
  return value == null ? 0n : readDecimal(value);
}

/** A whole number of the database. @throws {PlatformError} LEDGER_INSANE for what is none, NULL included */
export function readWhole(value: unknown): number {
  return WHOLE.test(String(value)) ? Number(value) : refuse(value, 'a whole number');
}

/** The same where NULL stays NULL. @throws {PlatformError} LEDGER_INSANE for any other text */
export function readWholeOrNull(value: unknown): number | null {
  return value == null ? null : readWhole(value);
}

function refuse(value: unknown, wanted: string): never {
  const found = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80);
  throw new PlatformError('LEDGER_INSANE', { reason: `the database has ${found} where ${wanted} is to be` });
}
